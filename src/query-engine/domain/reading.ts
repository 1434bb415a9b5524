import { isObject, type JsonObject } from '../../kernel/json-reader.js';
import { NamedError } from '../../kernel/errors.js';

/** An answer that breaks the engine's protocol. The message is private: for logs, never for clients. */
export class ProtocolBreach extends NamedError {}

/** @throws ProtocolBreach */
export function readObject(value: unknown, subject: string): JsonObject {
  if (isObject(value)) return value;
  throw new ProtocolBreach(`${subject} is not an object`);
}

/** @throws ProtocolBreach */
export function readList(value: unknown, subject: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolBreach(`${subject} is not a list`);
}

/** Reads a text, in which NUL and lone surrogates are replaced. @throws ProtocolBreach for other values */
export function readText(value: unknown, subject: string): string {
  const text = textOrNull(value);
  if (text !== null) return text;
  throw new ProtocolBreach(`${subject} is not a text`);
}

/** A text in which NUL and lone surrogates are replaced, because PostgreSQL cannot store them; null for other values. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value.replace(/[\u0000\p{Surrogate}]/gu, '\ufffd') : null;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** A whole number that fits PostgreSQL's `integer`; null for other values. */
export function integerOrNull(value: unknown): number | null {
  return Number.isInteger(value) && typeof value === 'number' && Math.abs(value) < 2 ** 31 ? value : null;
}
