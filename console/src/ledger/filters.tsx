import { useEffect, useRef, useState } from "react";
import type { SetURLSearchParams } from "react-router";
import { RUN_STATES } from "../../../src/run/run.ts";
import { STOP_REASONS } from "../../../src/run/stop-reason.ts";
import type { Ledger } from "../../../src/tools/view-ledger.ts";
import { SearchIcon } from "../ui/icons.tsx";
import { useKeys } from "../ui/keyboard.ts";

const TYPING_MS = 200;

/** Filters are the address: a narrowed ledger can be kept and sent. */
export function Filters({
  params,
  setParams,
  facets,
}: {
  readonly params: URLSearchParams;
  readonly setParams: SetURLSearchParams;
  readonly facets: Ledger["facets"] | null;
}) {
  const set = (name: string, value: string): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const repositories = facets?.repositories ?? [];
  const named = params.get("repo");
  return (
    <search className="flex flex-wrap items-center gap-x-2 gap-y-1.5 pt-3">
      <Select label="Repository" all="any repository" value={named ?? ""} onChange={(value) => set("repo", value)}>
        {named !== null && !repositories.some((one) => one.key === named) && <option value={named}>{named}</option>}
        {repositories.map((one) => (
          <option key={one.key} value={one.key}>
            {one.name} ({one.runs})
          </option>
        ))}
      </Select>
      <Select label="State" all="any state" value={params.get("state") ?? ""} onChange={(value) => set("state", value)}>
        {RUN_STATES.map((state) => (
          <option key={state}>{state}</option>
        ))}
      </Select>
      <Select label="Reason" all="any reason" value={params.get("reason") ?? ""} onChange={(value) => set("reason", value)}>
        {STOP_REASONS.map((reason) => (
          <option key={reason} value={reason}>
            {reason}
            {facets?.stop_reasons[reason] === undefined ? "" : ` (${facets.stop_reasons[reason]})`}
          </option>
        ))}
      </Select>
      <Toggle
        label="can be resumed"
        on={params.get("resumable") === "true"}
        onChange={(on) => set("resumable", on ? "true" : "")}
      />
      <Toggle label="archived" on={params.get("archived") === "true"} onChange={(on) => set("archived", on ? "true" : "")} />
      <span className="grow" />
      <SearchBox value={params.get("search") ?? ""} onChange={(value) => set("search", value)} />
    </search>
  );
}

const boxClass = "h-7 rounded-md border border-line bg-ground px-2 text-[13px] text-ink hover:border-soft";

function Select({
  label,
  all,
  value,
  onChange,
  children,
}: {
  readonly label: string;
  readonly all: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: React.ReactNode;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={`${boxClass} max-w-44 cursor-pointer ${value === "" ? "" : "border-accent"}`}
    >
      <option value="">{all}</option>
      {children}
    </select>
  );
}

function Toggle({
  label,
  on,
  onChange,
}: {
  readonly label: string;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}) {
  return (
    <label className={`${boxClass} inline-flex cursor-pointer items-center gap-1.5 ${on ? "border-accent" : ""}`}>
      <input type="checkbox" checked={on} onChange={(event) => onChange(event.target.checked)} className="accent-accent" />
      {label}
    </label>
  );
}

function SearchBox({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const box = useRef<HTMLInputElement>(null);
  const told = useRef(value);
  useKeys({ "/": () => box.current?.focus() });
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === told.current) return;
    const timer = setTimeout(() => {
      told.current = text;
      onChange(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label className={`${boxClass} inline-flex w-full items-center gap-1.5 text-soft sm:w-56`}>
      <SearchIcon />
      <span className="sr-only">Search</span>
      <input
        ref={box}
        type="search"
        value={text}
        maxLength={200}
        placeholder="search"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") box.current?.blur();
        }}
        className="w-full bg-transparent text-ink outline-none placeholder:text-soft"
      />
    </label>
  );
}
