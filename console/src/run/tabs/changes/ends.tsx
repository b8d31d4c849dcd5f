import type { RunView } from "../../../../../src/tools/schemas.ts";
import { useCheckpoints } from "../data.ts";
import { instant } from "../format.ts";

/** Checkpoints that a chooser lists at most; older ones are reached from the tab of checkpoints. */
const LISTED = 200;

export function Ends({
  run,
  from,
  to,
  onChoose,
}: {
  readonly run: RunView;
  readonly from: string;
  readonly to: string;
  readonly onChoose: (name: "from" | "to", value: string) => void;
}) {
  const stopped = run.state === "stopped" || run.state === "done";
  return (
    <div className="flex flex-wrap items-end gap-x-3 gap-y-2">
      <Chooser run={run} label="From" value={from} stopped={stopped} onChoose={(value) => onChoose("from", value)} />
      <span className="pb-1 text-soft" aria-hidden="true">
        →
      </span>
      <Chooser run={run} label="To" value={to} stopped={stopped} latest onChoose={(value) => onChoose("to", value)} />
    </div>
  );
}

function Chooser({
  run,
  label,
  value,
  stopped,
  latest = false,
  onChoose,
}: {
  readonly run: RunView;
  readonly label: string;
  readonly value: string;
  readonly stopped: boolean;
  readonly latest?: boolean;
  readonly onChoose: (value: string) => void;
}) {
  const { data } = useCheckpoints(run.run_id);
  const there = (data?.checkpoints ?? []).filter((one) => one.state === "present");
  const listed = there.slice(0, LISTED);
  const known = value === "" || ["base", "stop", "now"].includes(value) || listed.some((one) => one.id === value);
  const chosen = there.find((one) => one.id === value);
  return (
    <label className="text-xs text-soft">
      {label}
      <select
        value={value}
        onChange={(event) => onChoose(event.target.value)}
        className="mt-0.5 block max-w-72 rounded border border-line bg-ground px-2 py-1 text-sm text-ink"
      >
        {latest && <option value="">latest checkpoint</option>}
        <option value="base">base (where the run began)</option>
        {stopped && <option value="stop">the last stop</option>}
        {run.reclaimed_at === null && <option value="now">now (the working tree as it is)</option>}
        {!known && <option value={value}>{chosen === undefined ? value : nameOf(chosen)}</option>}
        <optgroup label="Checkpoints">
          {listed.map((one) => (
            <option key={one.id} value={one.id}>
              {nameOf(one)}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}

function nameOf(one: { readonly kind: string; readonly iteration: number; readonly at_ms: number }): string {
  return `${one.kind === "iteration" ? "" : `${one.kind}, `}iteration ${one.iteration} · ${instant(one.at_ms)}`;
}
