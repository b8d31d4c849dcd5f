const KEY = "loopkeeper-theme";
export type Theme = "system" | "light" | "dark";

/** A taste of this browser, nothing of a run: the only thing that the console keeps here. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  show();
}

export function followTheme(): void {
  show();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
}

function show(): void {
  const theme = chosenTheme();
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}
