import { createMcpServer } from "../../../src/server/mcp.ts";
import { serveMcpOverStdio } from "../../../src/server/stdio.ts";
import { TINY_TOOLS, tinyCall } from "./tiny-tools.ts";

await serveMcpOverStdio(
  () => createMcpServer({ tools: TINY_TOOLS, version: "1.2.3", call: tinyCall }),
  (error) => process.stderr.write(`${error.message}\n`),
);
process.exit(0);
