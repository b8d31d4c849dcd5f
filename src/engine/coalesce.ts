/** Joins chunks of one kind to one text. */
export interface Coalescer<Kind> {
  add(kind: Kind, text: string): void;
  /** Gives out what is held. */
  flush(): void;
}

const MAX_HELD_MS = 2000;
const MAX_HELD_CHARACTERS = 8192;

/**
 * Chunks of the same kind are held until another kind comes, `flush` is called, 2 s have passed or 8 KB are held.
 * By time or size only whole words go out: a credential that is cut in two would not be recognised.
 */
export function coalescer<Kind extends string>(emit: (kind: Kind, text: string) => void): Coalescer<Kind> {
  let held: { readonly kind: Kind; text: string } | null = null;
  let timer: NodeJS.Timeout | null = null;

  function flush(): void {
    stopTimer();
    const { kind, text } = held ?? {};
    held = null;
    if (kind !== undefined && text !== undefined && text !== "") emit(kind, text);
  }

  function flushWords(): void {
    stopTimer();
    if (held === null) return;
    const { kind, text } = held;
    const whole = text.length >= MAX_HELD_CHARACTERS ? text.length : 0;
    const end = lastBreak(text) || whole;
    held = { kind, text: text.slice(end) };
    if (end > 0) emit(kind, text.slice(0, end));
    if (held.text !== "") startTimer();
  }

  function startTimer(): void {
    timer ??= setTimeout(flushWords, MAX_HELD_MS);
  }

  function stopTimer(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  return {
    add(kind, text) {
      if (held !== null && held.kind !== kind) flush();
      held = { kind, text: (held?.text ?? "") + text };
      if (held.text.length >= MAX_HELD_CHARACTERS) flushWords();
      else startTimer();
    },
    flush,
  };
}

/** Index behind the last line end, else behind the last blank, else 0. */
function lastBreak(text: string): number {
  const line = text.lastIndexOf("\n");
  return line >= 0 ? line + 1 : text.lastIndexOf(" ") + 1;
}
