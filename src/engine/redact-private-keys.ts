const BEGIN_TO_END =
  // The body takes every character in one way only (no dash, or a dash that begins no boundary), so the match is linear.
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----))*)(-{5,6}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g;
/** Code that only names the boundary lines has no such run between them. */
const KEY_MATERIAL = /[A-Za-z0-9+/=]{32}/;
/** A line of a key whose end was cut off; a diff, a quote or an indent may stand before it. */
const KEY_LINE = /^(?:[\s>|+\-"']*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n]*)?[\s"',\\rn]*)$/;

/** Private keys in PEM armour, whole or cut, with real or escaped line ends. Certificates and public keys are no secret. */
export function redactPrivateKeys(text: string): string {
  if (!text.includes("PRIVATE KEY")) return text;
  return text.replace(BEGIN_TO_END, (whole: string, body: string, end: string | undefined) => {
    if (!KEY_MATERIAL.test(body)) return whole;
    return end === undefined ? `[redacted:private_key]${afterKeyLines(body)}` : "[redacted:private_key]";
  });

  function afterKeyLines(body: string): string {
    const lines = body.split("\n");
    // The first piece is the rest of the boundary line: key material too when line ends are escaped.
    const rest = lines.findIndex((line, index) => index > 0 && !KEY_LINE.test(line));
    return rest === -1 ? "" : `\n${lines.slice(rest).join("\n")}`;
  }
}
