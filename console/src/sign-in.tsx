import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import { beginSession, signIn, useSession } from "./session.ts";
import { Button } from "./ui/button.tsx";
import { inputClass } from "./ui/field.tsx";
import { Notice } from "./ui/notice.tsx";

const WHY = {
  none: ["Sign in", "This browser has no session with Loopkeeper yet."],
  wrong: ["The token is not this server's", "It may be from an earlier start, or cut off when it was copied."],
  over: [
    "Signed out",
    "The session ended, or the server was started with another token. Nothing is lost: runs go on without this page.",
  ],
} as const;

/** Lets nothing be shown before the server knows this browser. */
export function SignIn({ children }: { readonly children: ReactNode }) {
  const session = useSession();
  useEffect(() => {
    void beginSession();
    const again = (): void => {
      if (location.hash.startsWith("#token=")) void beginSession();
    };
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, []);
  switch (session.at) {
    case "in":
      return children;
    case "asking":
      return <main aria-busy="true" aria-label="Signing in" />;
    case "unreachable":
      return (
        <main>
          <Notice
            title="The server cannot be reached"
            alert
            action={<Button onClick={() => void beginSession()}>Try again</Button>}
          >
            <p>
              Start it with <code className="font-mono text-ink">loopkeeper serve</code>. Runs go on without it.
            </p>
          </Notice>
        </main>
      );
    case "out":
      return <TokenForm why={session.why} />;
  }
}

function TokenForm({ why }: { readonly why: keyof typeof WHY }) {
  const [token, setToken] = useState("");
  const field = useId();
  const [title, text] = WHY[why];
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") void signIn(token.trim());
  };
  return (
    <main>
      <Notice title={title} alert={why !== "none"}>
        <p>{text}</p>
        <p>
          Open the address that <code className="font-mono text-ink">loopkeeper serve</code> printed, or paste its token here. It
          is the part behind <code className="font-mono text-ink">#token=</code>, and stands in the file that serve names.
        </p>
        <form onSubmit={submit} className="flex flex-wrap items-end gap-2 pt-2">
          <label htmlFor={field} className="grow">
            <span className="mb-1 block text-[13px] font-medium text-ink">Token</span>
            <input
              id={field}
              type="password"
              autoComplete="current-password"
              value={token}
              onChange={(event) => setToken(event.target.value)}
              className={inputClass}
            />
          </label>
          <Button type="submit" look="primary">
            Sign in
          </Button>
        </form>
      </Notice>
    </main>
  );
}
