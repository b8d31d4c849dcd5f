import { Route, Routes } from "react-router";
import { Ledger } from "./ledger/ledger.tsx";
import { Run } from "./run/run.tsx";
import { SignIn } from "./sign-in.tsx";
import { NotFound } from "./ui/not-found.tsx";
import { Shell } from "./ui/shell.tsx";

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
