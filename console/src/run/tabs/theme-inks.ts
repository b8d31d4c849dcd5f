/** The page's colours for what is drawn by hand, as they are now. */
export function inks() {
  const style = getComputedStyle(document.documentElement);
  const ink = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ground: ink("ground"),
    raised: ink("raised"),
    line: ink("line"),
    ink: ink("ink"),
    soft: ink("soft"),
    accent: ink("accent"),
    good: ink("good"),
    busy: ink("busy"),
    needs: ink("needs"),
    bad: ink("bad"),
  };
}

/** Calls back when the page changes between light and dark; answers how to stop that. */
export function onThemeChange(changed: () => void): () => void {
  const watch = new MutationObserver(changed);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => watch.disconnect();
}
