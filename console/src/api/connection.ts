import { shared } from "../ui/shared.ts";

/** Whether what is shown follows the server: one fact for the whole page, told by the event stream and by every failed call. */
export type Connection = "connecting" | "live" | "reconnecting" | "offline";

const connection = shared<Connection>("connecting");

export const tellConnection = connection.set;
export const useConnection = connection.use;
