import { runScriptedAgent } from "../../../src/engine/scripted/agent.ts";
import { runReportServer } from "./fake-report-server.ts";

/** Stands in for the program's own entry: the two subcommands that engines start. */
const [subcommand, ...args] = process.argv.slice(2);
if (subcommand === "scripted-agent") await runScriptedAgent({ args, env: process.env });
else if (subcommand === "report") await runReportServer(process.env);
else process.exit(64);
