/** What a text says as JSON, or null when it is none: for texts of others, whose shape is parsed anyway. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
