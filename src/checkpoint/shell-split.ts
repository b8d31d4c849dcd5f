/** The words of a simple command, and the files that its output is written to. */
export interface SplitCommand {
  readonly words: readonly string[];
  readonly targets: readonly string[];
}

/**
 * Cuts shell text into simple commands: quotes and escapes are resolved, comments, here-documents and what is read from left
 * out, and `;`, `&&`, `||`, `|`, `&`, brackets and line ends divide.
 */
export function splitCommands(text: string): SplitCommand[] {
  const found = new Collector();
  /** Ends of here-documents that begin after the present line. */
  const ends: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === "'" || char === '"') {
      const quoted = readQuoted(text, at);
      found.append(quoted.value);
      at = quoted.end;
    } else if (char === "\\") {
      at += 1;
      if (text.charAt(at) !== "\n") found.append(text.charAt(at));
    } else if (char === "#" && !found.inWord) {
      at = lineEnd(text, at) - 1;
    } else if (char === "<" || char === ">" || text.startsWith("&>", at)) {
      at += readRedirection(text.slice(at, at + 200), ends, found) - 1;
    } else if (char === "\n") {
      found.endCommand();
      for (const end of ends.splice(0)) at = skipHereDocument(text, at, end);
    } else if (";|&()`".includes(char) || ("{}".includes(char) && !found.inWord)) {
      found.endCommand();
    } else if (/\s/.test(char)) {
      found.endWord();
    } else found.append(char);
  }
  found.endCommand();
  return found.commands;
}

class Collector {
  readonly commands: SplitCommand[] = [];
  inWord = false;
  #words: string[] = [];
  #targets: string[] = [];
  #word = "";
  #next: "word" | "target" | "dropped" = "word";

  append(text: string): void {
    this.#word += text;
    this.inWord = true;
  }

  endWord(): void {
    if (!this.inWord) return;
    if (this.#next === "word") this.#words.push(this.#word);
    if (this.#next === "target") this.#targets.push(this.#word);
    this.#word = "";
    this.inWord = false;
    this.#next = "word";
  }

  endCommand(): void {
    this.endWord();
    if (this.#words.length > 0 || this.#targets.length > 0) this.commands.push({ words: this.#words, targets: this.#targets });
    this.#words = [];
    this.#targets = [];
    this.#next = "word";
  }

  /** What follows is the file of a redirection; a number right before it was its descriptor. */
  redirect(writes: boolean): void {
    if (/^\d+$/.test(this.#word)) {
      this.#word = "";
      this.inWord = false;
    }
    this.endWord();
    this.#next = writes ? "target" : "dropped";
  }
}

/** Length of the operator; for a here-document also of the word that will end it, which is added to `ends`. */
function readRedirection(text: string, ends: string[], found: Collector): number {
  const here = /^<<-?[ \t]*(['"]?)([\w.-]+)\1/.exec(text);
  if (here?.[2] !== undefined) {
    ends.push(here[2]);
    return here[0].length;
  }
  const operator = /^(&>>?|<<<|<>|[<>]{1,2}[&|]?)/.exec(text)?.[0] ?? text.charAt(0);
  // After `>&` stands another descriptor.
  found.redirect(operator.includes(">") && !operator.endsWith("&"));
  return operator.length;
}

function readQuoted(text: string, from: number): { value: string; end: number } {
  const quote = text.charAt(from);
  let value = "";
  for (let at = from + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === quote) return { value, end: at };
    // `$(...)` inside double quotes may hold quotes of its own, as in -m "$(cat <<'EOF' ...)".
    if (quote === '"' && text.startsWith("$(", at)) {
      const end = substitutionEnd(text, at);
      value += text.slice(at, end + 1);
      at = end;
    } else if (quote === '"' && char === "\\") {
      at += 1;
      value += text.charAt(at);
    } else value += char;
  }
  return { value, end: text.length };
}

function substitutionEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text.charAt(at) === "(") depth += 1;
    if (text.charAt(at) === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Position of the last character of the line that ends a here-document. */
function skipHereDocument(text: string, from: number, word: string): number {
  for (let start = from + 1; start < text.length; ) {
    const end = lineEnd(text, start);
    if (text.slice(start, end).trim() === word) return end;
    start = end + 1;
  }
  return text.length;
}
