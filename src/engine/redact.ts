import { redactAssignments } from "./redact-assignments.ts";
import { redactPrivateKeys } from "./redact-private-keys.ts";
import { TOKEN_RULES } from "./redact-tokens.ts";

/**
 * Text with every credential that we recognise replaced by `[redacted:<kind>]`. Hashes, UUIDs, run and checkpoint ids stay.
 * Linear in the length of the text, and stable: redacting twice gives the same as once.
 *
 * A rule needs the whole credential before it. So pieces of a stream are joined to one entry first and redacted as a
 * whole, and a text that has to be cut is redacted before it is cut: a half token looks like an ordinary word.
 *
 * Rules know formats and names, they do not measure randomness: that would take commit ids and checksums away too.
 */
export function redact(text: string): string {
  let out = redactPrivateKeys(text);
  for (const rule of TOKEN_RULES) {
    if (rule.hints.some((hint) => out.includes(hint))) out = out.replace(rule.pattern, replacement(rule.kind));
  }
  return redactAssignments(out);
}

/** Rules that keep what stands before the credential capture it as group `keep`. */
function replacement(kind: string): string {
  return `$<keep>[redacted:${kind}]`;
}
