import { shared } from "./shared.ts";

/** Short messages that come and go; screen readers hear them without losing their place. */

interface Message {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;

const messages = shared<readonly Message[]>([]);
let last = 0;

export function announce(text: string, tone: Message["tone"] = "good"): void {
  last += 1;
  const id = last;
  messages.set([...messages.get().slice(-2), { id, text, tone }]);
  setTimeout(() => messages.set(messages.get().filter((message) => message.id !== id)), SHOWN_MS);
}

export function Announcements() {
  const shown = messages.use();
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-3 bottom-3 z-50 flex flex-col items-end gap-2"
    >
      {shown.map((message) => (
        <p
          key={message.id}
          className={`max-w-md rounded-md border bg-ground px-3 py-2 text-[13px] shadow-lg ${message.tone === "bad" ? "border-bad text-bad" : "border-line text-ink"}`}
        >
          {message.text}
        </p>
      ))}
    </div>
  );
}
