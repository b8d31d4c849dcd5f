import { type RefObject, useEffect, useRef } from "react";

/**
 * Keeps the focus within a part of the page whose buttons come and go: when the one that had it is taken away, the first that is
 * there gets it. Otherwise whoever works by keyboard would begin again at the top of the page.
 */
export function useKeptFocus<T extends HTMLElement>(): {
  readonly ref: RefObject<T | null>;
  readonly onFocus: () => void;
  readonly onBlur: () => void;
} {
  const ref = useRef<T>(null);
  const within = useRef(false);
  useEffect(() => {
    if (within.current && document.activeElement === document.body) ref.current?.querySelector("button")?.focus();
  });
  return {
    ref,
    onFocus: () => {
      within.current = true;
    },
    onBlur: () => {
      within.current = false;
    },
  };
}
