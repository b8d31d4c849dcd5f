import { flag, USUAL } from "../../../src/run/names.ts";
import { shellQuoted } from "../../../src/run/shell-quoted.ts";
import type { Account } from "../../../src/tools/run-explain-stop.ts";
import type { RunView } from "../../../src/tools/schemas.ts";
import { useWant, type Wanted } from "../actions/want.ts";
import { Button } from "../ui/button.tsx";
import { withLocalTimes } from "../ui/clock.ts";
import { Copyable } from "../ui/copy.tsx";

type Choice = Account["choices"][number];

/** Everything that can be done now, the recommended first; what cannot stands last, with the reason. */
export function Choices({
  run,
  objective,
  choices,
}: {
  readonly run: RunView;
  /** Whole, where the run's is cut. */
  readonly objective: string;
  readonly choices: readonly Choice[];
}) {
  const want = useWant();
  const rank = (choice: Choice): number => (choice.recommended ? 0 : choice.allowed ? 1 : 2);
  const sorted = [...choices].sort((a, b) => rank(a) - rank(b));
  const allowed = sorted.filter((choice) => choice.allowed);
  const refused = sorted.filter((choice) => !choice.allowed);
  return (
    <div className="border-t border-line px-4 py-2.5">
      <h3 className="text-[13px] font-semibold text-soft">What you can do</h3>
      <ul className="mt-1">
        {allowed.map((choice) => (
          <li key={choice.label} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1">
            <ChoiceButton choice={choice} onClick={() => want(wantedOf(run, choice))} />
            <span className="min-w-0 basis-60 grow text-[13px] text-soft">
              {choice.recommended && <span className="mr-1 font-medium text-accent">Recommended.</span>}
              {capital(withLocalTimes(choice.why))}
              {choice.action === "start_new" && <StartLine args={choice.args} objective={objective} />}
            </span>
          </li>
        ))}
      </ul>
      {refused.length > 0 && (
        <details className="text-[13px] text-soft">
          <summary className="cursor-pointer">{refused.length} not possible now</summary>
          <ul className="mt-1 space-y-0.5">
            {refused.map((choice) => (
              <li key={choice.label}>
                {choice.label}: {withLocalTimes(choice.why)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function ChoiceButton({ choice, onClick }: { readonly choice: Choice; readonly onClick: () => void }) {
  // A new run is started where its agent and repository are: by an agent, or on the command line.
  if (choice.action === "start_new")
    return <span className="w-80 max-w-full shrink-0 text-[13px] font-medium">{choice.label}</span>;
  return (
    <span className="w-80 max-w-full shrink-0">
      <Button look={choice.recommended ? "primary" : "plain"} wraps onClick={onClick} className="max-w-full">
        {choice.label}
      </Button>
    </span>
  );
}

/** An objective that is longer is not typed again in a line. */
const IN_A_LINE = 200;

/** Ready to be typed where the agents are; the same objective where it fits, else a place for the new one. */
function StartLine({ args, objective }: { readonly args: Choice["args"]; readonly objective: string }) {
  const short = objective.length <= IN_A_LINE && !objective.includes("\n");
  const flags = Object.entries(args).flatMap(([name, value]) => [flag(name), shellQuoted(String(value))]);
  const words = ["loopkeeper start", short ? shellQuoted(objective) : USUAL["objective"], ...flags];
  return (
    <span className="mt-1 block overflow-hidden rounded bg-raised px-2 py-1">
      <Copyable text={words.join(" ")} what="the command line" />
    </span>
  );
}

function wantedOf(run: RunView, { action, args }: Choice): Wanted {
  const { step, to, from, at } = args;
  return {
    action: action === "start_new" ? "resume" : action,
    run_id: run.run_id,
    ...(typeof step === "string" ? { step } : {}),
    ...(typeof to === "string" ? { to } : {}),
    ...(from === "stop" || from === "entry" ? { from } : {}),
    ...(at === "now" || at === "reset" ? { at } : {}),
    ...(args["restart"] === true ? { restart: true } : {}),
  };
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
