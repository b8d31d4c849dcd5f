import { agentAlone } from "./alone.ts";

agentAlone("claude");
