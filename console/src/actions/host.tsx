import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { WantContext, type Wanted } from "./want.ts";

const ActionDialog = lazy(() => import("./dialogs.tsx").then((module) => ({ default: module.ActionDialog })));

/** One dialog at a time, over whatever page. */
export function ActionHost({ children }: { readonly children: ReactNode }) {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const want = useMemo(() => (next: Wanted) => setWanted(next), []);
  return (
    <WantContext value={want}>
      {children}
      {wanted !== null && (
        <Suspense fallback={null}>
          <ActionDialog wanted={wanted} onClose={() => setWanted(null)} />
        </Suspense>
      )}
    </WantContext>
  );
}
