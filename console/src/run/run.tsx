import { useEffect } from "react";
import { Link, useParams } from "react-router";
import { useRunKeys } from "../actions/run-keys.ts";
import { Problem } from "../api/client.ts";
import { useAccount, useHead } from "../api/queries.ts";
import { Fault, Notice, Skeleton } from "../ui/notice.tsx";
import { RunHead } from "./head.tsx";
import { Steps } from "./steps.tsx";
import { StopCard } from "./stop-card.tsx";
import { RunTabs } from "./tabs/run-tabs.tsx";
import { TakeOver } from "./take-over.tsx";

/** One run: what it is, why it stopped, what may be done, and everything that it did. */
export function Run() {
  const { id = "" } = useParams();
  const head = useHead(id);
  const state = head.data?.run.state;
  const ended = state === "stopped" || state === "done";
  const account = useAccount(id, ended);
  useRunKeys(head.data === undefined ? null : { run_id: id, actions: head.data.actions });
  const title = head.data?.objective;
  useEffect(() => {
    document.title = title === undefined ? "Loopkeeper" : `${title.slice(0, 60)} · Loopkeeper`;
  }, [title]);

  if (head.data === undefined) return <Missing error={head.error} retry={() => void head.refetch()} />;
  const { run } = head.data;
  return (
    <>
      {head.error !== null && head.error instanceof Problem && <Fault>{head.error.message}</Fault>}
      <RunHead head={head.data} />
      {ended && <StopCard head={head.data} account={account.data ?? null} error={account.error} />}
      {head.data.take_over !== null && <TakeOver takeOver={head.data.take_over} />}
      {run.steps.length > 1 && <Steps run={run} />}
      <RunTabs run={run} />
    </>
  );
}

function Missing({ error, retry }: { readonly error: Error | null; readonly retry: () => void }) {
  if (error === null) return <Skeleton lines={5} label="Loading the run" />;
  const gone = error instanceof Problem && error.status === 404;
  return (
    <Notice
      title={gone ? "There is no such run" : "The run cannot be shown"}
      alert
      action={
        <>
          <button type="button" className="cursor-pointer text-accent underline" onClick={retry}>
            Try again
          </button>
          <Link to="/" className="text-accent underline">
            All runs
          </Link>
        </>
      }
    >
      <p>{gone ? "The address may be cut off, or the run is in another store." : error.message}</p>
    </Notice>
  );
}
