/** Longest run that an open-ended quantifier may take: without an end a search is more than linear in time. */
const LONGEST = 4096;

const CLASSES: Readonly<Record<string, string>> = {
  "[:alnum:]": "A-Za-z0-9",
  "[:alpha:]": "A-Za-z",
  "[:digit:]": "0-9",
  "[:xdigit:]": "A-Fa-f0-9",
};

/**
 * A pattern of Go's RE2 as JavaScript of Node 22 reads it: groups with flags are spelled out, since Node 22 does not know them.
 * Made for the rules of gitleaks, so the optional name before a keyword is dropped (it only slows the search) and the end
 * of a secret is "the word does not go on" instead of a list of characters. Throws for what it cannot convert.
 */
export function toJavaScript(re2: string): { source: string; flags: string } {
  const pattern = re2
    .replaceAll("[\\w.-]{0,50}?", "")
    .replaceAll("(?:[\\x60'\"\\s;]|\\\\[nr]|$)", "(?![\\w-])")
    .replaceAll(/\(\?P<\w+>/g, "(?:")
    .replaceAll("(?s:.)", "[\\s\\S]")
    .replaceAll("\\z", "$");
  const flags = pattern.startsWith("(?i)") && !pattern.includes("(?-i:") ? "i" : "";
  const source = spelledOut(flags === "i" ? pattern.slice(4) : pattern, flags === "i");
  return {
    source: source.replaceAll(/\{(\d+),\}/g, (_, least: string) => `{${least},${Math.max(LONGEST, Number(least))}}`),
    flags,
  };
}

function spelledOut(pattern: string, wholeIgnoresCase: boolean): string {
  const groups: boolean[] = [];
  let ignore = false;
  let out = "";
  for (let at = 0; at < pattern.length; ) {
    const rest = pattern.slice(at);
    const flag = /^\(\?(-?)i(:|\))/.exec(rest);
    if (flag !== null && flag[2] === ")") {
      ignore = !wholeIgnoresCase;
      at += flag[0].length;
    } else if (flag !== null) {
      groups.push(ignore);
      ignore = flag[1] === "" && !wholeIgnoresCase;
      out += "(?:";
      at += flag[0].length;
    } else if (rest.startsWith("[")) {
      const read = classAt(rest, ignore);
      out += read.text;
      at += read.length;
    } else if (rest.startsWith("\\")) {
      out += rest.slice(0, 2);
      at += 2;
    } else if (/^\(\?[^:]/.test(rest) && !rest.startsWith("(?!")) {
      throw new Error(`cannot convert ${rest.slice(0, 20)}`);
    } else {
      const char = rest.charAt(0);
      if (char === "(") groups.push(ignore);
      if (char === ")") ignore = groups.pop() ?? false;
      out += ignore && /[A-Za-z]/.test(char) ? `[${char.toLowerCase()}${char.toUpperCase()}]` : char;
      at += 1;
    }
  }
  return out;
}

function classAt(text: string, ignore: boolean): { text: string; length: number } {
  let out = "[";
  let at = 1;
  if (text.charAt(at) === "^") {
    out += "^";
    at += 1;
  }
  for (let first = true; first || text.charAt(at) !== "]"; first = false) {
    if (at >= text.length) throw new Error(`a class without an end: ${text.slice(0, 40)}`);
    const rest = text.slice(at);
    const named = /^\[:\w+:\]/.exec(rest)?.[0];
    const range = /^([A-Za-z])-([A-Za-z])/.exec(rest)?.[0];
    const piece = named ?? range ?? (rest.startsWith("\\") ? rest.slice(0, 2) : rest.charAt(0));
    if (named !== undefined) out += CLASSES[named] ?? unknownClass(named);
    else if (ignore && (range !== undefined || /^[A-Za-z]$/.test(piece))) out += both(piece);
    else out += piece === "[" ? "\\[" : piece;
    at += piece.length;
  }
  return { text: `${out}]`, length: at + 1 };
}

function both(piece: string): string {
  const lower = piece.toLowerCase();
  const upper = piece.toUpperCase();
  return lower === upper ? piece : lower + upper;
}

function unknownClass(name: string): never {
  throw new Error(`cannot convert ${name}`);
}
