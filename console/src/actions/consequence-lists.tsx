import { List } from "./list.tsx";

export interface ConsequencesTold {
  readonly happens: readonly string[];
  readonly undoes: readonly string[];
  readonly cannot_undo: readonly string[];
}

/** What every action that takes something away tells before it is done, in one type style. */
export function ConsequenceLists({ consequences }: { readonly consequences: ConsequencesTold }) {
  return (
    <>
      <List title="What happens" items={consequences.happens} />
      <List title="What it undoes" items={consequences.undoes} />
      <List title="What it cannot undo" items={consequences.cannot_undo} />
    </>
  );
}
