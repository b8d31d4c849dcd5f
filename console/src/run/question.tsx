import type { RunView } from "../../../src/tools/schemas.ts";

type Asked = NonNullable<NonNullable<RunView["stop"]>["question"]>;

/** What the agent asks. A command that it wants to run stands whole: it is what is allowed or not. */
export function Question({ question }: { readonly question: Asked }) {
  const { kind, text, command } = question;
  return (
    <figure className="rounded-md border-l-2 border-needs bg-raised px-3 py-2">
      <figcaption className="text-[12px] text-soft">
        {kind === "permission" ? "It asks to be allowed this" : "It asks"}
      </figcaption>
      {(command === null || !text.includes(command)) && (
        <blockquote className="break-words whitespace-pre-wrap">{text}</blockquote>
      )}
      {command !== null && <pre className="mt-1 font-mono text-[13px] break-words whitespace-pre-wrap">{command}</pre>}
    </figure>
  );
}
