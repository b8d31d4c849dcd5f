import { agentAlone } from "./alone.ts";
import { agentAsClient } from "./as-client.ts";
import { agentElsewhere } from "./elsewhere.ts";
import { agentMoved } from "./moved.ts";
import { agentStories } from "./stories.ts";

agentAlone("codex");
agentStories("codex");
agentMoved("codex");
agentElsewhere("codex");
agentAsClient("codex");
