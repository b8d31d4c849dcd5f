/** Texts of a list, each with a key of its own, where the same text may stand twice. */
export function keyed<T>(
  items: readonly T[],
  textOf: (item: T) => string,
): readonly { readonly key: string; readonly item: T }[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const text = textOf(item);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    return { key: `${times} ${text}`, item };
  });
}
