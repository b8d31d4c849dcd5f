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

/** The last resume of this run, or its redo, whose caller's word on earlier drift does not count any more; null for neither. */
export async function lastResume(drive: Drive): Promise<Resumed | null> {
  if (drive.run.stop === null) return null;
  const types = ["run_resumed", "step_redone"] as const;
  const [last] = await drive.ctx.store.events(drive.run.run_id, { types, limit: 1 });
  if (last?.type === "step_redone") return { by: "owner", from: "entry" };
  const parsed = resumedSchema.safeParse(last?.data);
  return parsed.success ? parsed.data : null;
}
