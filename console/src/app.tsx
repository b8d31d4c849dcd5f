import { lazy, Suspense } from "react";
import { Route, Routes } from "react-router";
import { Ledger } from "./ledger/ledger.tsx";
import { SignIn } from "./sign-in.tsx";
import { NotFound } from "./ui/not-found.tsx";
import { Skeleton } from "./ui/notice.tsx";
import { Shell } from "./ui/shell.tsx";

const Run = lazy(() => import("./run/run.tsx").then((module) => ({ default: module.Run })));

/** Every state of the console has an address: what is looked at survives a reload and can be sent to somebody. */
export function App() {
  return (
    <SignIn>
      <Routes>
        <Route element={<Shell />}>
          <Route index element={<Ledger />} />
          <Route path="runs/:id/:tab?" element={<RunPage />} />
          <Route path="*" element={<NotFound />} />
        </Route>
      </Routes>
    </SignIn>
  );
}

/** Comes after the ledger: the first page is then there sooner. */
function RunPage() {
  return (
    <Suspense fallback={<Skeleton lines={5} label="Loading the run" />}>
      <Run />
    </Suspense>
  );
}
