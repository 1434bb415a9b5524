/** The value of a JSON text; null: the text is no JSON, or null itself. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
