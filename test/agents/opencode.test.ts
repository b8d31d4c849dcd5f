import { agentAlone } from "./alone.ts";
import { agentAsClient } from "./as-client.ts";
import { agentMoved } from "./moved.ts";
import { agentStories } from "./stories.ts";

agentAlone("opencode");
agentStories("opencode");
agentMoved("opencode");
agentAsClient("opencode");
