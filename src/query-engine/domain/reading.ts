import { NamedError } from '../../kernel/errors.js';

/** An answer that breaks the engine's protocol. The message is private: for logs, never for clients. */
export class ProtocolBreach extends NamedError {}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws ProtocolBreach */
export function readObject(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new ProtocolBreach(`${what} is not an object`);
}

/** @throws ProtocolBreach */
export function readList(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolBreach(`${what} is not a list`);
}

/** A text that PostgreSQL can store. @throws ProtocolBreach */
export function readText(value: unknown, what: string): string {
  const text = textOrNull(value);
  if (text !== null) return text;
  throw new ProtocolBreach(`${what} is not a text`);
}

/** A text that PostgreSQL can store: names and messages of the engine can hold NUL, which `text` cannot. */
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
