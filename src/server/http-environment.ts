import type { HttpBindings } from "@hono/node-server";

/** What a handler finds beside its request: Node's own request and response. */
export interface HttpEnvironment {
  Bindings: HttpBindings;
}
