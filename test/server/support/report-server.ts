import { runReportServer } from "../../../src/server/report.ts";

const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);
await runReportServer({ env });
process.exit(0);
