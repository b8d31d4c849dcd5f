import type { ReactNode } from "react";
import type { Account, Explanation } from "../../../src/tools/run-explain-stop.ts";
import type { Head } from "../../../src/tools/view-head.ts";
import { withLocalTimes } from "../ui/clock.ts";
import { CheckIcon, HalfIcon, RingIcon, WarnIcon } from "../ui/icons.tsx";
import { Info } from "../ui/info.tsx";
import { Fault } from "../ui/notice.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { Choices } from "./choices.tsx";
import { driftLines } from "./drift.ts";
import { Question } from "./question.tsx";
import { Uncommitted } from "./uncommitted.tsx";

/** Why it stopped, what there is of its work, and what to do: first what the record says at once, then what looking brings. */
export function StopCard({
  head,
  account,
  error,
}: {
  readonly head: Head;
  readonly account: Account | null;
  readonly error: Error | null;
}) {
  const { stop, state } = head.run;
  if (stop === null) return null;
  const explanation = account?.explanation ?? null;
  return (
    <section aria-labelledby="why" className="mt-3 rounded-lg border border-line">
      <div className="flex flex-wrap items-baseline gap-x-2 gap-y-1 px-4 pt-3">
        <h2 id="why" className="basis-full text-[13px] font-semibold text-soft">
          {state === "done" ? "How it ended" : "Why it stopped"}
        </h2>
        <p className="min-w-0 grow basis-72 text-[16px] leading-snug font-medium break-words">
          {withLocalTimes(explanation?.headline ?? stop.headline)}
          {stop.same_stop_in_a_row > 1 && (
            <span className="block text-[13px] font-normal text-needs">
              The same stop {stop.same_stop_in_a_row} times in a row.
            </span>
          )}
        </p>
        {explanation !== null && <Evidence cause={explanation.cause} />}
      </div>
      <div className="px-4 pb-3">
        {stop.question !== null && (
          <div className="mt-2">
            <Question question={stop.question} />
          </div>
        )}
        {stop.person_must !== null && (
          <p className="mt-2 flex items-start gap-2 text-needs">
            <span className="mt-1">
              <WarnIcon />
            </span>
            <span>First, only you can do this: {stop.person_must}</span>
          </p>
        )}
        {error !== null && explanation === null && (
          <div className="mt-2">
            <Fault>The full account cannot be shown: {error.message}</Fault>
          </div>
        )}
        {explanation === null && error === null && (
          <p role="status" className="mt-2 text-[13px] text-soft">
            Looking at the repository…
          </p>
        )}
        {explanation !== null && <Whole explanation={explanation} />}
      </div>
      {account !== null && state !== "done" && <Choices run={head.run} objective={head.objective} choices={account.choices} />}
    </section>
  );
}

function Evidence({ cause }: { readonly cause: Explanation["cause"] }) {
  return (
    <Info label="evidence">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
        <dt>seen</dt>
        <dd className="font-mono text-[12px] break-words text-ink">{cause.evidence}</dd>
        <dt>source</dt>
        <dd>{SOURCES[cause.source]}</dd>
        {cause.step !== null && (
          <>
            <dt>step</dt>
            <dd>{cause.step}</dd>
          </>
        )}
        {cause.reset_read !== null && (
          <>
            <dt>reset</dt>
            <dd>
              read from “{cause.reset_read.from}”{cause.reset_read.zone === null ? "" : ` in ${cause.reset_read.zone}`},{" "}
              {cause.reset_read.confidence} confidence
            </dd>
          </>
        )}
      </dl>
    </Info>
  );
}

const SOURCES: Readonly<Record<Explanation["cause"]["source"], string>> = {
  acp_error: "an error of the engine's protocol",
  stop_reason: "how the engine ended its turn",
  text: "what the engine printed",
  exit: "how the engine's process ended",
  loop: "the loop's own rules",
  owner: "you",
  recovery: "found when the run was taken up again",
};

function Whole({ explanation }: { readonly explanation: Explanation }) {
  const { completed, midway, intended, acts, verify, context } = explanation;
  const drift = driftLines(explanation.drift);
  return (
    <>
      <div className="mt-3 grid gap-x-6 gap-y-3 sm:grid-cols-3">
        <Items title="Completed" items={completed} icon={<CheckIcon />} colour="text-good" />
        <Items title="Mid-way" items={midway} icon={<HalfIcon />} colour="text-needs" />
        <Items title="Still intended" items={intended} icon={<RingIcon />} colour="text-soft" />
      </div>
      {acts.unobserved.length > 0 && (
        <Part title="Check before it is repeated: begun, and the outcome was never seen">
          {acts.unobserved.map((act) => (
            <li key={`${act.kind}${act.at}${act.what}`} className="flex items-start gap-1.5 text-needs">
              <span className="mt-0.5">
                <WarnIcon />
              </span>
              <span className="min-w-0 break-words">
                {act.kind.replace("_", " ")} <span className="font-mono text-[12px]">{act.what}</span>
              </span>
            </li>
          ))}
        </Part>
      )}
      {acts.landed.length > 0 && (
        <Part title="What it did that others can see">
          {acts.landed.map((act) => (
            <li key={`${act.kind}${act.at}${act.ref ?? act.what}`} className="min-w-0 break-words">
              <span className="text-soft">{act.kind.replace("_", " ")}</span> {act.what}{" "}
              {act.ref !== null && (
                <span className="font-mono text-[12px] text-soft">{act.kind === "commit" ? act.ref.slice(0, 10) : act.ref}</span>
              )}
            </li>
          ))}
        </Part>
      )}
      <Uncommitted uncommitted={explanation.uncommitted} />
      {verify.length > 0 && (
        <Part title="Checks">
          {verify.map((check) => (
            <li key={`${check.step}${check.command}`}>
              <details>
                <summary className="cursor-pointer">
                  <span className={check.exit_code === 0 ? "text-good" : "text-bad"}>
                    {check.exit_code === 0 ? "passes" : `fails (exit ${check.exit_code ?? "none"})`}
                  </span>{" "}
                  <span className="font-mono text-[12px]">{check.command}</span>{" "}
                  <span className="text-soft">iteration {check.iteration}</span>
                </summary>
                {check.tail !== "" && (
                  <ScrollRegion
                    label={`Output of ${check.command}`}
                    className="mt-1 max-h-48 overflow-auto rounded bg-raised p-2"
                  >
                    <pre className="font-mono text-[12px]">{check.tail}</pre>
                  </ScrollRegion>
                )}
              </details>
            </li>
          ))}
        </Part>
      )}
      <p className="mt-3 text-[13px]">
        <span className="text-soft">Since then: </span>
        {drift.join(" · ")}
      </p>
      {context.gaps.length > 0 && (
        <Part title="What this account does not cover">
          {context.gaps.map((gap) => (
            <li key={gap}>{withLocalTimes(gap)}</li>
          ))}
        </Part>
      )}
    </>
  );
}

/** Longer lists are folded behind their beginning. */
const SHOWN = 6;

function Items({
  title,
  items,
  icon,
  colour,
}: {
  readonly title: string;
  readonly items: Explanation["completed"];
  readonly icon: ReactNode;
  readonly colour: string;
}) {
  const list = (some: Explanation["completed"]) =>
    some.map((item) => (
      <li key={item.what} className="flex items-start gap-1.5">
        <span className={`mt-1 ${colour}`}>{icon}</span>
        <span className="min-w-0 break-words">
          {withLocalTimes(item.what)} <Source of={item.source} />
        </span>
      </li>
    ));
  return (
    <div className="min-w-0">
      <h3 className="text-[13px] font-semibold text-soft">{title}</h3>
      {items.length === 0 ? (
        <p className="text-[13px] text-soft">nothing known</p>
      ) : (
        <>
          <ul className="space-y-0.5">{list(items.slice(0, SHOWN))}</ul>
          {items.length > SHOWN && (
            <details>
              <summary className="cursor-pointer text-[13px] text-soft">{items.length - SHOWN} more</summary>
              <ul className="space-y-0.5">{list(items.slice(SHOWN))}</ul>
            </details>
          )}
        </>
      )}
    </div>
  );
}

/** What was seen, as against what the agent says of itself: told apart by word and by look. */
function Source({ of }: { readonly of: "observed" | "reported" }) {
  return of === "observed" ? (
    <span className="text-[11px] whitespace-nowrap text-good">observed</span>
  ) : (
    <span className="text-[11px] whitespace-nowrap text-soft italic">reported</span>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="mt-3 text-[13px]">
      <h3 className="font-semibold text-soft">{title}</h3>
      <ul className="space-y-0.5">{children}</ul>
    </div>
  );
}
