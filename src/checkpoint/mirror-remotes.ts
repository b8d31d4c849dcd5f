import type { GitConfig } from "./git-config.ts";

/** Names of remotes that a push mirrors to: they would get the hidden refs too. */
export function mirrorRemotes(config: GitConfig): readonly string[] {
  const names = config.settings.flatMap(({ key }) => /^remote\.(.*)\.mirror$/su.exec(key)?.[1] ?? []);
  return [...new Set(names)].filter((name) => config.isTrue(`remote.${name}.mirror`));
}
