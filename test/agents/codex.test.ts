import { agentAlone } from "./alone.ts";

agentAlone("codex");
