import { useState } from "react";
import { Link, Outlet, useLocation } from "react-router";
import { ActionHost } from "../actions/host.tsx";
import { type Connection, useConnection } from "../api/connection.ts";
import { useFollowing } from "../api/events.ts";
import { sessionEnded } from "../session.ts";
import { Announcements } from "./announce.tsx";
import { Button } from "./button.tsx";
import { Help } from "./help.tsx";
import { HalfSunIcon, MoonIcon, SunIcon } from "./icons.tsx";
import { useKeys } from "./keyboard.ts";
import { Boundary, PartFaultNotice } from "./part.tsx";
import { chooseTheme, chosenTheme, type Theme } from "./theme.ts";

/** What stands around every page: where one is, whether it follows the server, and what belongs to no page. */
export function Shell() {
  const [help, setHelp] = useState(false);
  const { pathname } = useLocation();
  useFollowing(sessionEnded);
  useKeys({ "?": () => setHelp(true) });
  return (
    <ActionHost>
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:m-2 focus:rounded focus:bg-ground focus:px-2">
        To the content
      </a>
      <header className="sticky top-0 z-30 border-b border-line bg-ground">
        <div className="mx-auto flex h-11 max-w-[90rem] items-center gap-3 px-4">
          <Link to="/" className="flex items-center gap-2 font-semibold">
            <img src="/favicon.svg" alt="" width="18" height="18" />
            Loopkeeper
          </Link>
          <ConnectionState />
          <span className="grow" />
          <ThemeButton />
          <Button look="quiet" aria-label="Keyboard help" className="px-2 font-mono" onClick={() => setHelp(true)}>
            ?
          </Button>
        </div>
        <OfflineLine />
      </header>
      <main id="main" tabIndex={-1} className="mx-auto max-w-[90rem] px-4 pb-16 outline-none">
        <Boundary place={pathname} fault={(again) => <PartFaultNotice again={again} />}>
          <Outlet />
        </Boundary>
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
      <Announcements />
    </ActionHost>
  );
}

const CONNECTIONS: Readonly<Record<Connection, readonly [string, string]>> = {
  connecting: ["connecting", "text-soft"],
  live: ["live", "text-good"],
  reconnecting: ["reconnecting", "text-needs"],
  offline: ["offline", "text-bad"],
};

function ConnectionState() {
  const connection = useConnection();
  const [word, colour] = CONNECTIONS[connection];
  return (
    <span role="status" className={`inline-flex items-center gap-1.5 text-[12px] ${colour}`}>
      <svg viewBox="0 0 8 8" width="8" height="8" aria-hidden="true">
        {connection === "live" ? (
          <circle cx="4" cy="4" r="3.5" fill="currentColor" />
        ) : (
          <circle
            cx="4"
            cy="4"
            r="3"
            fill="none"
            stroke="currentColor"
            strokeDasharray={connection === "offline" ? undefined : "2 1.5"}
          />
        )}
      </svg>
      {word}
    </span>
  );
}

function OfflineLine() {
  if (useConnection() !== "offline") return null;
  return (
    <p className="border-t border-line bg-raised px-4 py-1.5 text-center text-[13px] text-soft">
      The server cannot be reached. What is shown may be old; runs go on without it, and the page catches up by itself.
    </p>
  );
}

const THEMES: Readonly<Record<Theme, { readonly next: Theme; readonly icon: () => React.JSX.Element; readonly says: string }>> = {
  system: { next: "light", icon: HalfSunIcon, says: "as the system has it" },
  light: { next: "dark", icon: SunIcon, says: "light" },
  dark: { next: "system", icon: MoonIcon, says: "dark" },
};

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  const { next, icon: Icon, says } = THEMES[theme];
  return (
    <Button
      look="quiet"
      className="px-2"
      aria-label={`Theme: ${says}. Change to ${THEMES[next].says}`}
      title={`Theme: ${says}`}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <Icon />
    </Button>
  );
}
