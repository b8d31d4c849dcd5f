import { agentAlone } from "./alone.ts";
import { agentMoved } from "./moved.ts";
import { agentStories } from "./stories.ts";

agentAlone("codex");
agentStories("codex");
agentMoved("codex");
