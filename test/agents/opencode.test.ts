import { agentAlone } from "./alone.ts";
import { agentStories } from "./stories.ts";

agentAlone("opencode");
agentStories("opencode");
