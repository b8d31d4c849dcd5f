import { agentAlone } from "./alone.ts";

agentAlone("gemini");
