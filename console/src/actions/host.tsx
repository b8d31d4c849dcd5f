import { type ReactNode, useMemo, useState } from "react";
import { ActionDialog } from "./dialogs.tsx";
import { WantContext, type Wanted } from "./want.ts";

/** One dialog at a time, over whatever page. */
export function ActionHost({ children }: { readonly children: ReactNode }) {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const want = useMemo(() => (next: Wanted) => setWanted(next), []);
  return (
    <WantContext value={want}>
      {children}
      {wanted !== null && <ActionDialog wanted={wanted} onClose={() => setWanted(null)} />}
    </WantContext>
  );
}
