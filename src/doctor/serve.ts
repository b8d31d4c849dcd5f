import type { Config } from "../config.ts";
import { DEFAULT_PORT, findPlace, isFree } from "../serve-place.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** The serve of this home, and whether the next one would get its usual port. */
export async function checkServe(config: Config): Promise<Finding> {
  const place = await findPlace(config);
  if (place !== null) return ok("serve", `${place.url}, process ${place.pid}`);
  if (await isFree(DEFAULT_PORT)) return ok("serve", "none (`loopkeeper open` starts one when it is wanted)");
  return warning(
    "serve",
    `none, and its usual port ${DEFAULT_PORT} is taken (by another program, or the serve of another home)`,
    "`loopkeeper open` takes a free port by itself; `loopkeeper serve --port 0` does too.",
  );
}
