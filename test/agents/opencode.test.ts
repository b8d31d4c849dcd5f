import { agentAlone } from "./alone.ts";

agentAlone("opencode");
