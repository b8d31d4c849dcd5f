const LETTERS = 128;

/**
 * Tells which of many words a text holds, whatever their case, in one pass over it (Aho and Corasick's automaton). Words are
 * ASCII in lower case. Running every rule's own search over every text would cost as many passes as there are rules.
 */
export function keywordScanner(words: readonly string[]): (text: string) => ReadonlySet<string> {
  const { next, found } = automaton(words);
  const ends = Uint8Array.from(found, (held) => (held.length > 0 ? 1 : 0));
  return (text) => {
    let hits: Set<string> | null = null;
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      state = code < LETTERS ? (next[state * LETTERS + code] ?? 0) : 0;
      if (ends[state] === 0) continue;
      hits ??= new Set();
      for (const word of found[state] ?? []) hits.add(word);
    }
    return hits ?? NONE;
  };
}

/** Most texts hold no word at all, and many are short: they cost no set of their own. */
const NONE: ReadonlySet<string> = new Set();

/** Which rules are worth a try on a text that holds these words, in the order of the rules. */
export function rulesByWord<R>(
  rules: readonly R[],
  wordsOf: (rule: R) => readonly string[],
): (words: ReadonlySet<string>) => readonly R[] {
  const ranks = new Map<string, number[]>();
  for (const [rank, rule] of rules.entries()) {
    for (const word of wordsOf(rule)) ranks.set(word, [...(ranks.get(word) ?? []), rank]);
  }
  return (words) => {
    const tried = new Set<number>();
    for (const word of words) for (const rank of ranks.get(word) ?? []) tried.add(rank);
    return [...tried].sort((a, b) => a - b).flatMap((rank) => rules[rank] ?? []);
  };
}

function automaton(words: readonly string[]): { next: Int32Array; found: readonly (readonly string[])[] } {
  const size = 1 + words.reduce((sum, word) => sum + word.length, 0);
  const next = new Int32Array(size * LETTERS);
  const found: string[][] = [[]];
  for (const word of new Set(words)) {
    let state = 0;
    for (const char of word) {
      const at = state * LETTERS + char.charCodeAt(0);
      if (next[at] === 0) {
        next[at] = found.length;
        found.push([]);
      }
      state = next[at] ?? 0;
    }
    found[state]?.push(word);
  }
  addFailures(next, found);
  addUpperCase(next, found.length);
  return { next, found };
}

/** Where a word breaks off, the search goes on with the longest end of it that begins another word. */
function addFailures(next: Int32Array, found: string[][]): void {
  const fallback = new Int32Array(found.length);
  const queue = [0];
  for (const state of queue) {
    for (let code = 0; code < LETTERS; code += 1) {
      const at = state * LETTERS + code;
      const child = next[at] ?? 0;
      const beside = state === 0 ? 0 : (next[(fallback[state] ?? 0) * LETTERS + code] ?? 0);
      if (child === 0) {
        next[at] = beside;
        continue;
      }
      fallback[child] = beside;
      found[child]?.push(...(found[beside] ?? []));
      queue.push(child);
    }
  }
}

function addUpperCase(next: Int32Array, states: number): void {
  for (let state = 0; state < states; state += 1)
    for (let code = 65; code <= 90; code += 1) next[state * LETTERS + code] = next[state * LETTERS + code + 32] ?? 0;
}
