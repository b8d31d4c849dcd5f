import { openApiDocument } from "../src/server/openapi.ts";
import { TOOLS } from "../src/tools/index.ts";
import { VERSION } from "../src/version.ts";
import { errorsPage, stopReasonsPage } from "./facts-pages.ts";
import { type ListedTool, listTools } from "./listed-tools.ts";
import { toolsPage } from "./tools-page.ts";

export interface GeneratedFile {
  /** Relative to the top folder. */
  readonly path: string;
  readonly content: string;
}

/** Every file that is made from code, as it has to be now. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const tools = await listTools(TOOLS);
  return [
    { path: "test/contract/tools.json", content: recorded(tools) },
    { path: "docs/tools.md", content: toolsPage(tools) },
    { path: "docs/stop-reasons.md", content: stopReasonsPage() },
    { path: "docs/errors.md", content: errorsPage() },
    { path: "docs/openapi.json", content: `${JSON.stringify(openApiDocument(TOOLS, VERSION), null, 2)}\n` },
  ];
}

function recorded(tools: readonly ListedTool[]): string {
  return `${JSON.stringify(tools, null, 2)}\n`;
}
