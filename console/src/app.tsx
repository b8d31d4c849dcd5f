import { Route, Routes } from "react-router";
import { Ledger } from "./ledger/ledger.tsx";
import { SignIn } from "./sign-in.tsx";
import { NotFound } from "./ui/not-found.tsx";
import { Skeleton } from "./ui/notice.tsx";
import { part } from "./ui/part.tsx";
import { Shell } from "./ui/shell.tsx";

/** Comes after the ledger: the first page is then there sooner. */
const Run = part(async () => (await import("./run/run.tsx")).Run, <Skeleton lines={5} label="Loading the run" />);

/** Every state of the console has an address: what is looked at survives a reload and can be sent to somebody. */
export function App() {
  return (
    <SignIn>
      <Routes>
        <Route element={<Shell />}>
          <Route index element={<Ledger />} />
          <Route path="runs/:id/:tab?" element={<Run />} />
          <Route path="*" element={<NotFound />} />
        </Route>
      </Routes>
    </SignIn>
  );
}
