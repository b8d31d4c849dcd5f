import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Stands in a client's configuration where Loopkeeper stood: writes down the environment that it got, then is Loopkeeper. */
const { HOME = "", ...others } = process.env;
writeFileSync(join(HOME, "seen-environment.json"), JSON.stringify(others));
await import("../../../dist/bin/loopkeeper.js");
