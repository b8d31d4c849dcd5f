import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { MoreIcon } from "./icons.tsx";

export interface MenuItem {
  readonly key: string;
  readonly label: string;
  /** Why it cannot be chosen; null when it can. */
  readonly refused: string | null;
  readonly danger?: boolean;
  onSelect(): void;
}

/** The browser's own popover: it lies over everything, closes at a click beside it, and needs no style that a policy refuses. */
export function Menu({
  label,
  items,
  trigger,
}: {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly trigger?: ReactNode;
}) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const id = useId();
  return (
    <span ref={anchor} className="inline-flex">
      <Button
        look="quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open}
        {...(open ? { "aria-controls": id } : {})}
        className="px-1.5"
        // Before the popover's own closing at a press beside it, so that a second click closes and does not open again.
        onPointerDown={(event) => {
          if (open) event.preventDefault();
        }}
        onClick={() => setOpen(!open)}
      >
        {trigger ?? <MoreIcon />}
      </Button>
      {open && <MenuList id={id} label={label} items={items} anchor={anchor.current} onClose={() => setOpen(false)} />}
    </span>
  );
}

const MARGIN = 8;

function MenuList({
  id,
  label,
  items,
  anchor,
  onClose,
}: {
  readonly id: string;
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly anchor: HTMLElement | null;
  readonly onClose: () => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const menu = list.current;
    if (menu === null) return;
    menu.showPopover();
    place(menu, anchor);
    itemsOf(menu)[0]?.focus();
  }, [anchor]);

  function close(): void {
    onClose();
    anchor?.querySelector("button")?.focus();
  }

  function choose(item: MenuItem): void {
    if (item.refused !== null) return;
    close();
    item.onSelect();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const all = list.current === null ? [] : itemsOf(list.current);
    const { activeElement } = document;
    const at = activeElement instanceof HTMLElement ? all.indexOf(activeElement) : -1;
    const next = nextOf(event.key, at, all);
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      close();
    } else if (next !== null) {
      event.preventDefault();
      all[next]?.focus();
    }
  }

  return (
    <div
      ref={list}
      id={id}
      role="menu"
      tabIndex={-1}
      aria-label={label}
      popover="auto"
      onToggle={(event) => {
        if (event.newState === "closed") onClose();
      }}
      onKeyDown={onKeyDown}
      className="fixed inset-auto m-0 max-h-[min(30rem,85dvh)] w-max max-w-[min(21rem,calc(100vw-1rem))] min-w-48 overflow-y-auto rounded-md border border-line bg-ground p-1 text-ink shadow-xl"
    >
      {items.map((item) => (
        <button
          key={item.key}
          type="button"
          role="menuitem"
          tabIndex={-1}
          // Refused ones stay reachable, so that a keyboard and a screen reader come by the reason.
          aria-disabled={item.refused !== null}
          onClick={() => choose(item)}
          className={`block w-full cursor-pointer rounded px-2 py-1 text-left text-[13px] whitespace-normal outline-none hover:bg-raised focus:bg-raised aria-disabled:cursor-default ${item.refused !== null ? "text-soft" : item.danger === true ? "text-bad" : ""}`}
        >
          <span className="block">{item.label}</span>
          {item.refused !== null && <span className="block text-[12px] leading-snug text-soft">{item.refused}</span>}
        </button>
      ))}
    </div>
  );
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

/** The item that a key leads to: arrows round the list, Home and End, or the next one that begins with the letter. */
function nextOf(key: string, at: number, all: readonly HTMLElement[]): number | null {
  const count = all.length;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at - 1 + count) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!/^\p{L}$/u.test(key)) return null;
  const order = [...all.keys()].map((n) => (at + 1 + n) % count);
  return order.find((n) => all[n]?.textContent?.toLowerCase().startsWith(key.toLowerCase())) ?? null;
}

/** Below the button, its right edges in line; above it where there is no room below. */
function place(menu: HTMLElement, anchor: HTMLElement | null): void {
  if (anchor === null) return;
  const button = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = button.bottom + 4;
  const top = below + height + MARGIN <= innerHeight ? below : Math.max(MARGIN, button.top - 4 - height);
  const left = Math.min(Math.max(MARGIN, button.right - width), innerWidth - width - MARGIN);
  menu.style.top = `${top}px`;
  menu.style.left = `${left}px`;
}
