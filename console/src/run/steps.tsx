import type { RunView } from "../../../src/tools/schemas.ts";
import { plural } from "../ledger/words.ts";
import { CheckIcon, CloseIcon, HalfIcon, RingIcon } from "../ui/icons.tsx";

type Step = RunView["steps"][number];

const MARKS: Readonly<Record<Step["state"], readonly [() => React.JSX.Element, string]>> = {
  succeeded: [CheckIcon, "text-good"],
  running: [HalfIcon, "text-busy"],
  failed: [CloseIcon, "text-bad"],
  stopped: [HalfIcon, "text-needs"],
  pending: [RingIcon, "text-soft"],
  unreachable: [RingIcon, "text-soft"],
};

function iterationsOf({ iteration, max_iterations }: Step): string {
  return max_iterations === null ? plural(iteration, "iteration") : `${iteration} of ${plural(max_iterations, "iteration")}`;
}

/** The stages of a run, each with its tries. */
export function Steps({ run }: { readonly run: RunView }) {
  return (
    <section aria-label="Steps" className="mt-3">
      <ol className="flex flex-wrap gap-1.5">
        {run.steps.map((step, index) => {
          const [Mark, colour] = MARKS[step.state];
          return (
            <li key={step.step} className="flex items-start gap-1.5 rounded-md border border-line px-2 py-1 text-[13px]">
              <span className={`mt-1 ${colour}`}>
                <Mark />
              </span>
              <span className="min-w-0 break-words">
                {index + 1}. {step.title ?? step.step}{" "}
                <span className="text-soft">
                  {step.state}
                  {step.attempt > 1 && `, attempt ${step.attempt}`}
                  {step.iteration > 0 && `, ${iterationsOf(step)}`}
                </span>
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
