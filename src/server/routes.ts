import type { Tool } from "../tools/define-tool.ts";
import { VIEWS } from "../tools/views.ts";

export type Method = "GET" | "POST";

/** Where a tool is found over HTTP. Names in braces are arguments of the tool that come from the path. */
interface Route {
  readonly tool: string;
  readonly method: Method;
  readonly path: string;
  /** Name of the operation in documents, where a tool has several routes. */
  readonly operation?: string;
}

/** Reading tools are GET with the rest of their arguments in the query; writing ones POST with the rest in a JSON body. */
const ROUTES: readonly Route[] = [
  { tool: "coding_loop_start", method: "POST", path: "/api/runs" },
  { tool: "run_list", method: "GET", path: "/api/runs" },
  { tool: "run_status", method: "GET", path: "/api/runs/{run_id}" },
  { tool: "run_wait", method: "GET", path: "/api/runs/{run_id}/wait" },
  { tool: "run_explain_stop", method: "GET", path: "/api/runs/{run_id}/explanation" },
  { tool: "run_transcript", method: "GET", path: "/api/runs/{run_id}/transcript" },
  { tool: "run_diff", method: "GET", path: "/api/runs/{run_id}/diff" },
  { tool: "run_diff", method: "GET", path: "/api/runs/{run_id}/checkpoints/{to}/diff", operation: "run_checkpoint_diff" },
  { tool: "run_stop", method: "POST", path: "/api/runs/{run_id}/stop" },
  // The word that clients of earlier systems use for it.
  { tool: "run_stop", method: "POST", path: "/api/runs/{run_id}/abandon", operation: "run_abandon" },
  { tool: "run_resume", method: "POST", path: "/api/runs/{run_id}/resume" },
  { tool: "run_grant_iterations", method: "POST", path: "/api/runs/{run_id}/grant" },
  { tool: "run_reset", method: "POST", path: "/api/runs/{run_id}/reset" },
  { tool: "run_redo", method: "POST", path: "/api/runs/{run_id}/redo" },
  { tool: "run_instruct", method: "POST", path: "/api/runs/{run_id}/instruct" },
  { tool: "run_archive", method: "POST", path: "/api/runs/{run_id}/archive" },
];

/** A route with the tool that answers it. */
export interface ToolRoute {
  readonly tool: Tool;
  readonly method: Method;
  readonly path: string;
  readonly operation: string;
  /** Names of the arguments that the path holds. */
  readonly path_arguments: readonly string[];
}

/** A path as the router writes it: `{run_id}` becomes `:run_id`. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/gu, ":$1");

/** Pages' readings need no table: one about a run is found under the run by its name, any other under /api. */
const VIEW_ROUTES: readonly Route[] = VIEWS.map(({ name, input }) => ({
  tool: name,
  method: "GET",
  path: input.shape["run_id"] === undefined ? `/api/${name}` : `/api/runs/{run_id}/${name}`,
}));

/** Every tool's routes, in the table's order, then those of the pages' readings. A tool without one is a defect: it could not be reached. */
export function routesOf(tools: readonly Tool[]): readonly ToolRoute[] {
  const missing = tools.filter((tool) => !ROUTES.some((route) => route.tool === tool.name));
  if (missing.length > 0) throw new Error(`no route leads to ${missing.map((tool) => tool.name).join(", ")}`);
  return [...ROUTES, ...VIEW_ROUTES].flatMap(({ tool: name, method, path, operation = name }) => {
    const tool = [...tools, ...VIEWS].find((candidate) => candidate.name === name);
    if (tool === undefined) return [];
    const path_arguments = [...path.matchAll(/\{(\w+)\}/gu)].map(([, argument = ""]) => argument);
    return [{ tool, method, path, operation, path_arguments }];
  });
}
