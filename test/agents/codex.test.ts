import { agentAlone } from "./alone.ts";
import { agentStories } from "./stories.ts";

agentAlone("codex");
agentStories("codex");
