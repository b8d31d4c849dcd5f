import { z } from "zod";
import type { Drive } from "./drive.ts";

/** How a run was continued, as its event tells it: the driver may come to it much later. */
const resumedSchema = z.looseObject({
  by: z.enum(["owner", "grant", "auto_resume"]),
  from: z.enum(["stop", "entry"]),
  on_drift: z.enum(["keep", "restore", "refuse"]).nullish(),
  /** What the remote said when the caller's door asked it. */
  remote: z.looseObject({ answer: z.string().nullable() }).optional(),
});
export type Resumed = z.infer<typeof resumedSchema>;

const READ_EVENTS = 50;

/** The last resume of this run; null for a run that was never continued. */
export async function lastResume(drive: Drive): Promise<Resumed | null> {
  if (drive.run.stop === null) return null;
  const events = await drive.ctx.store.events(drive.run.run_id, { limit: READ_EVENTS });
  const parsed = resumedSchema.safeParse(events.findLast((event) => event.type === "run_resumed")?.data);
  return parsed.success ? parsed.data : null;
}
