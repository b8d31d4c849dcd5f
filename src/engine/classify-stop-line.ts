import { stripVTControlCharacters } from "node:util";
import { PHRASES, statusesIn } from "./classify-stop-phrases.ts";
import { fieldsOf, jsonIn, parseJson } from "./classify-stop-walk.ts";

const LONGEST = 4000;
/** What a CLI writes before its errors; after one of these an error needs no known wording. */
const ERROR_PREFIX =
  /^(?:\[?API Error\b:?\s*|Ran into this error:\s*|litellm\.\w+:\s*|(?:\w+Error|\w+Exception)\b\s*[:-]\s*|exception\s+|Error code:\s*\d{3}\b[\s-]*|Request failed:\s*|Error running [\w ]{1,40}:\s*|unexpected status\b\s*|exceeded retry limit\b,?\s*|got status:\s*(?:[A-Z_]+\b[.:]?\s*)?|stream error:\s*)/i;
const WEAK_PREFIX = /^(?:(?:internal |fatal |unexpected )?error:\s*|warning:\s*|\[?error\]?\s+|bad request\s*)/i;
/** Who or what an error sentence may begin with before its telling words. */
const SUBJECT =
  /^(?:(?:you(?:'ve| have|'re| are)?|your?|the|this|that|an?|our|we(?:'re| are)|it|is|are|has|have|was|been|currently|temporarily|claude|codex|gemini|openai|anthropic|chatgpt|model'?s?|selected|server|service|request(?:ed)?|repeated|input|api|provider|account|organization|workspace|current|agent|content|code|ai|pro|max|plus|team|free|opus|sonnet|haiku|fable|\d(?:\.\d)?|\d+-hour|access|could|not|be|refresh(?:ed)?|token|because|experiencing|no|unexpected|monthly|hourly|session|plan|five|hour|ran|out|of|room|in|limit|daily|weekly|usage|error|errors|status|message|new|remote|http|please|[45]\d\d)\b[\s,:'()-]*)*$/i;
/** How the sentence may go on after its telling words without a stop between them. */
const CONTINUATION =
  /^[\s)\]]*$|^[(|]|^[\s,]*(?:for|on|of|by|before|without|because|from|to|or|per|which|will|please|resets?)\b/i;

/**
 * What a person who reports work writes and a machine that reports an error does not: first person, work done, tests,
 * source files, code marks.
 */
const PROSE =
  /(?:^|[\s("'])I(?:'m|'ve|'ll|'d)?\s|\bmy\b|\bwe (?!are\b)|`|"|→|=>|->|✓|✗|\b(?:tests?|suite|specs?|fixtures?|mocks?|snapshots?|storybook|assert\w*|parsers?|refactor\w*|commits?|committed|readme|regex|stubs?|components?|banners?|toasts?|tooltips?|strings?|copy|wording|labels?|placeholders?|handlers?|helpers?|functions?|modules?|page|screen|button|docs page|sections?|branch|merge[ds]?|deploy\w*|CI|users)\b|\b(?:added|fixed|updated|changed|renamed|removed|implemented|covered|covers|reproduced|documented|translated|mapped|maps|wired|moved|replaced|handled|handles|parsed|shown|shows|prints?|printed|renders?|displays?|green|pass(?:es|ed|ing)|finished|works|retries)\b|(?<=\w )(?:is|are|was|were) (?:now|what|how|only|just|thrown|returned|one|the (?!request|server|usage))\b|\bnow (?:an?|the|in|is|are|has|have|uses?|returns?|gets?)\b|,? so (?:the|that|it|users?)\b|\bno longer\b|\bnow\.$|(?<![\w/.])(?!settings\.json|config\.toml)[\w./-]+\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|c|cpp|h|cs|php|swift|md|json|ya?ml|toml|html|css|sh|sql)\b/i;
/** Advice and details that follow an error sentence. */
const ADVICE =
  /^(?:or |and |but )?(?:please|try|press|visit|is the computer|are you|upgrade|\/[a-z-]+|check|add|go to|see|for more|to |if |this (?:is|can|may|request|might|error)|usually|start a|contact|learn|the (?:request|api|model|server|service|limit|error)|request|run|use|switch|turn|wait|you|your|usage|limits?|it |make sure|ensure|reduce|consider|purchase|buy|send|ask|keep|read|manage|view|decrease|clear|there (?:was|is)|an? (?:error|unexpected)|we(?:'re| are)|sorry|fix|set|interrupted|details|help|however|org|organization|model|requested|max|current|team|code|status|url|cf-ray|trace|timestamp|increase|enable|weekly|session|daily|opus|sonnet|everything|would|\(?every|\[?retrying|attempt|number|not )\b/i;
const DETAIL =
  /\b(?:errors?|fail(?:ed|ure)?|clos(?:e|ed|ing)|time[ds]?[ -]?out|reset|refused|disconnect\w*|unavailable|exceed\w*|limits?|limited|status|invalid|denied|unauthori[sz]ed|forbidden|interrupt\w*|abort\w*|lost|unreachable|socket|network|eof|overload\w*|exhaust\w*|quota|gateway|upstream|stream|https?|tls|ssl|dns|capacity|tokens?|credits?|budget|iteration|sending|response|request id|retry|api key|credentials?|login|rejected|too many|missing|authenticat\w+|getaddrinfo|E[A-Z]{4,}|connect\w*)\b/i;
/** A status alone is no error: reports of work name statuses too. */
const NAMES_FAULT = /error|fail|unexpected|reject|unauthori|forbidden|payment required|too many|unavailable|gateway|overload/i;
const CLAUSE_END =
  /(?<=[.!?…])[\s)\]]+|\s*[·∙•|;]\s*|\s+[—–-]\s+|:\s+|,\s+(?=or |please |add |upgrade |decrease |url|cf-ray|request id)|\s*\n+\s*|\s*\[|\]\s*/;

/** An error that fills a whole message, cleaned of the terminal's decoration; `strong` when it is one whatever its words. */
export interface ErrorLine {
  readonly text: string;
  readonly strong: boolean;
}

/**
 * The message as an error when all of it is one: an error sentence at its very start and after it nothing but details,
 * advice, addresses and JSON. Prose, code, diffs and logs that quote or begin with such a sentence give null.
 */
export function wholeErrorLine(message: string): ErrorLine | null {
  if (message.length > 4 * LONGEST) return null;
  const text = cleaned(message);
  if (text === "" || text.length > LONGEST || text.includes("```")) return null;
  if (/^[[{]/.test(text) && !/^\[?API Error/i.test(text)) return errorJson(text);
  const words = withoutJson(text);
  if (words === null) return null;
  const { rest, strong } = withoutPrefix(withoutDetails(words));
  const [first = "", ...others] = rest.split(CLAUSE_END).map((clause) => clause.trim());
  const opens = strong
    ? first === "" || first === BODY_PLACE || beginsAsError(first) || (DETAIL.test(first) && !PROSE.test(first))
    : beginsAsError(first);
  if (!opens || !others.every(belongsToError)) return null;
  // A prefix alone, with nothing that a machine would have added, is the beginning of a heading.
  return strong && first === "" && others.length === 0 && words === text ? null : { text, strong };
}

/** Text as one message: no colours, no bullets of a terminal, straight quotes, no timer of the CLI below it. */
export function cleaned(message: string): string {
  return stripVTControlCharacters(message)
    .replaceAll(/[’‘]/g, "'")
    .replaceAll(/[\u00a0\u202f\u2009]/g, " ")
    .replaceAll(/^[ \t]*[⏺●■▲⎿└│✘❌⚠]+[ \t]*/gmu, "")
    .replaceAll(/^[ \t]*[✻✽✶✳✢*·]\s?\w+ for [\dhms .]+$/gmu, "")
    .replaceAll(/^[ \t]*request id: ?[\w-]+[ \t]*$/gim, "")
    .trim();
}

function beginsAsError(clause: string): boolean {
  if (PROSE.test(clause)) return false;
  for (const phrase of Object.values(PHRASES)) {
    const found = phrase.exec(clause);
    if (found === null) continue;
    const after = clause.slice(found.index + found[0].length).replace(/[.!?…]+$/, "");
    if (SUBJECT.test(clause.slice(0, found.index)) && (continues(after) || isTime(after))) return true;
  }
  return (
    statusesIn(clause).length > 0 && clause.length < 80 && NAMES_FAULT.test(clause) && continues(clause.replace(/^.*\d{3}/, ""))
  );
}

/** With a verb of its own after them the telling words are only the subject of a sentence about something else. */
function continues(rest: string): boolean {
  const after = rest.replace(/^\s*(?:(?:is |was )?(?:exceeded|reached|required)|unexpectedly|again|errors?|already used)\b/i, "");
  const main = after.replace(/\b(?:because|which|that|while|when)\b.*/is, "");
  return CONTINUATION.test(after) && !/\b(?:is|are|was|were|gets?|does|still|only|can|could|should|would|must)\b/i.test(main);
}

function belongsToError(sentence: string): boolean {
  const clause = sentence.replace(BODY_PLACE, "").trim();
  if (clause === "" || isTime(clause)) return true;
  if (PROSE.test(clause)) return false;
  return ADVICE.test(clause) || DETAIL.test(clause) || /^[\w.:/@,=%$-]+$/.test(clause);
}

/** A reset announcement and nothing else. */
function isTime(clause: string): boolean {
  return /^(?:(?:,|will|your|the|it|limits?|usage|resets?|reset|try again|retry(?:ing)?|at|in|on|after|by|and|or|about|of|tomorrow|today|later|soon|a moment|utc|gmt|am|pm|noon|midnight|de|del|um|uhr|kl|[a-z]{3,4}\.|[pmce][sd]?t|bst|cet|cest|eet|eest|jst|kst|ist|sgt|ae[sd]t|nz[sd]t|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*|[a-z]+\/[a-z_/+-]+\d*|[+-]?\d[\d:.,/]*(?:st|nd|rd|th|[ap]\.?m\.?|ms|[wdhms])?(?:\d+[hms])*|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[.,()])(?:\s+|(?=[,.()])|$))*$/i.test(
    clause.trim(),
  );
}

/**
 * Web pages of gateways, remarks in brackets and the few code marks that CLIs use in their advice; brackets with prose or code in them
 * stay.
 */
function withoutDetails(text: string): string {
  return text
    .replace(/<(?:!doctype|html)\b[\s\S]*$/i, BODY_PLACE)
    .replace(/^I've (reached the maximum number of actions) I can do\b/, "$1") // goose speaks in the first person.
    .replaceAll(/`(?:verbose: true|max_tokens|\/[a-z-]+|(?:claude|codex|gemini|opencode|goose)[\w -]{0,30})`/g, "it")
    .replaceAll(/\s?\(([^()]{0,300})\)/g, (whole, remark: string) => (PROSE.test(remark) ? whole : ""));
}

function withoutPrefix(text: string): { rest: string; strong: boolean } {
  let rest = text;
  let strong = false;
  for (let n = 0; n < 6; n += 1) {
    const prefix = ERROR_PREFIX.exec(rest)?.[0] ?? "";
    const weak = prefix === "" ? (WEAK_PREFIX.exec(rest)?.[0] ?? "") : "";
    if (prefix === "" && weak === "") break;
    strong ||= prefix !== "";
    rest = rest.slice(prefix.length + weak.length);
  }
  return { rest: rest.replace(/^\s*\(?\d{3}\b[)\s]*/, ""), strong };
}

/** Stands where a body (JSON, a web page) was. */
const BODY_PLACE = "<body>";

/** The text with its JSON body taken out; null when a bracketed part is no JSON (code, then). */
function withoutJson(text: string): string | null {
  const start = text.search(/[[{]\s*["'{[]/);
  if (start === -1) return text.includes("{") ? null : text;
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  const body = text.slice(start, end + 1);
  if (jsonIn(body).length === 0) return null;
  return `${text.slice(0, start)}${BODY_PLACE}\n${text.slice(end + 1)}`;
}

/** A message that is JSON only, whole or line by line, and whose last object reports an error. */
function errorJson(text: string): ErrorLine | null {
  const whole = parseJson(text);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const objects = whole === undefined ? lines.map(parseJson) : [whole];
  if (objects.includes(undefined)) return null;
  return reportsError(objects.at(-1)) ? { text, strong: true } : null;
}

/** True for an error body or frame; a successful result that mentions errors is none. */
export function reportsError(value: unknown): boolean {
  const fields = fieldsOf(value).filter((field) => field.depth <= 2);
  const says = (key: string, value: unknown): boolean => fields.some((field) => field.key === key && field.value === value);
  if (says("is_error", false)) return false;
  if (says("is_error", true) || says("type", "error") || says("type", "turn.failed")) return true;
  return fields.some(
    (field) =>
      (field.key === "error" && typeof field.value === "string") ||
      (field.key === "code" && Number(field.value) >= 400 && Number(field.value) < 600),
  );
}
