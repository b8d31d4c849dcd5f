import type { RepoGit } from "./repo-git.ts";
import { changedBetween, emptyTree } from "./tree.ts";

/** Files that are in no commit and look like secrets: they stay in local checkpoints and never leave the machine. */

const NAMES: readonly RegExp[] = [
  /^\.env(\..+)?$/,
  /\.(env|pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfvars|tfstate|ovpn|mobileprovision)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/,
  /^(\.?netrc|_netrc|\.npmrc|\.yarnrc\.yml|\.pypirc|\.pgpass|\.my\.cnf|\.htpasswd|\.git-credentials|\.dockercfg|\.vault-token|\.s3cfg|\.boto)$/,
  /^(credentials?|secrets?|client_secrets?|service[-_]?account|application_default_credentials|token|kubeconfig)([-_.].*)?\.(json|ya?ml|toml|ini|txt|properties|xml|db)$/,
  /^(credentials|kubeconfig|secrets)$/,
];
const PATHS: readonly RegExp[] = [/(^|\/)\.docker\/config\.json$/, /(^|\/)\.(aws|kube|ssh|gnupg)\//];
/** They are made to be shared: nothing in them is secret. */
const SHARED = /(\.(example|sample|template|dist|defaults?)$)|^id_\w+\.pub$|^\.env\.(example|sample|template|dist)/;

const CONTENTS: readonly RegExp[] = [
  /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/,
  /^PuTTY-User-Key-File-\d/m,
  /AGE-SECRET-KEY-1[0-9A-Z]{20}/,
  /"private_key"\s*:\s*"-----BEGIN/,
  /aws_secret_access_key\s*[=:]\s*\S{20}/i,
];

/** Of a larger file only the beginning is looked at. */
const READ_BYTES = 1024 * 1024;
const BATCH_BYTES = 32 * 1024 * 1024;

function looksSecret(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (SHARED.test(name)) return false;
  return NAMES.some((pattern) => pattern.test(name)) || PATHS.some((pattern) => pattern.test(path.toLowerCase()));
}

/** Paths of these trees that no commit of `head` has and that look like secrets by name or content. */
export async function secretsIn(
  git: RepoGit,
  trees: readonly string[],
  head: string | null,
  seen: Map<string, boolean>,
): Promise<string[]> {
  const base = head ?? emptyTree(git.repo.object_format);
  const found = new Set<string>();
  const toRead = new Map<string, string[]>();
  for (const tree of new Set(trees)) {
    for (const { path, from, to } of await changedBetween(git, base, tree)) {
      if (from !== null || to === null || !to.mode.startsWith("100")) continue;
      if (looksSecret(path)) found.add(path);
      else toRead.set(to.oid, [...(toRead.get(to.oid) ?? []), path]);
    }
  }
  await readContents(
    git,
    [...toRead.keys()].filter((oid) => !seen.has(oid)),
    seen,
  );
  for (const [oid, paths] of toRead) if (seen.get(oid) === true) for (const path of paths) found.add(path);
  return [...found].sort();
}

/** Notes for each blob whether it holds a secret; a few are read at a time. */
async function readContents(git: RepoGit, oids: readonly string[], seen: Map<string, boolean>): Promise<void> {
  if (oids.length === 0) return;
  const checked = await git.run(["cat-file", "--batch-check"], { input: `${oids.join("\n")}\n` });
  const sizes = checked.text.split("\n").map((line) => Number(line.split(" ")[2] ?? 0));
  let group: string[] = [];
  let bytes = 0;
  for (const [n, oid] of oids.entries()) {
    const size = sizes[n] ?? 0;
    if (size > READ_BYTES) {
      const beginning = await git.run(["cat-file", "blob", oid], { max_bytes: READ_BYTES });
      seen.set(oid, holdsSecret(beginning.bytes));
      continue;
    }
    group.push(oid);
    bytes += size;
    if (bytes < BATCH_BYTES) continue;
    await readGroup(git, group, seen);
    group = [];
    bytes = 0;
  }
  if (group.length > 0) await readGroup(git, group, seen);
}

async function readGroup(git: RepoGit, oids: readonly string[], seen: Map<string, boolean>): Promise<void> {
  const { bytes } = await git.run(["cat-file", "--batch"], { input: `${oids.join("\n")}\n` });
  let at = 0;
  for (const oid of oids) {
    const end = bytes.indexOf(10, at);
    const size = Number(bytes.toString("latin1", at, end).split(" ")[2] ?? 0);
    seen.set(oid, holdsSecret(bytes.subarray(end + 1, end + 1 + size)));
    at = end + 1 + size + 1;
  }
}

function holdsSecret(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  return CONTENTS.some((pattern) => pattern.test(text));
}
