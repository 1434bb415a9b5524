/** The engine answered something that its protocol does not contain. The text is private: for logs, never for clients. */
export class ProtocolBreach extends Error {
  override readonly name = 'ProtocolBreach';
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws ProtocolBreach */
export function readObject(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new ProtocolBreach(`${what} is no object`);
}

/** @throws ProtocolBreach */
export function readList(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolBreach(`${what} is no list`);
}

/** A text that PostgreSQL can keep. @throws ProtocolBreach */
export function readText(value: unknown, what: string): string {
  const text = textOrNull(value);
  if (text !== null) return text;
  throw new ProtocolBreach(`${what} is no text`);
}

/** A text that PostgreSQL can keep: people can bring NUL into the engine's names and messages, and no text has it there. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value.replace(/[\u0000\p{Surrogate}]/gu, '\ufffd') : null;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** A number that fits PostgreSQL's `integer`. */
export function integerOrNull(value: unknown): number | null {
  return Number.isInteger(value) && typeof value === 'number' && Math.abs(value) < 2 ** 31 ? value : null;
}
