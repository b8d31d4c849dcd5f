import { agentAlone } from "./alone.ts";
import { agentStories } from "./stories.ts";

agentAlone("gemini");
agentStories("gemini");
