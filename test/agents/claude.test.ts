import { agentAlone } from "./alone.ts";
import { agentAsClient } from "./as-client.ts";
import { agentElsewhere } from "./elsewhere.ts";
import { agentMoved } from "./moved.ts";
import { agentStaged } from "./staged.ts";
import { agentStories } from "./stories.ts";

agentAlone("claude");
agentStories("claude");
agentMoved("claude");
agentElsewhere("claude");
agentStaged("claude");
agentAsClient("claude");
