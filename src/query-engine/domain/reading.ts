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

/** @throws ProtocolBreach */
export function readText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new ProtocolBreach(`${what} is no text`);
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
