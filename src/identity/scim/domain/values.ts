import { isObject } from '../../../kernel/json-reader.js';
import { Refused } from '../../../kernel/errors.js';

/** The codes by which clients of SCIM tell refusals apart (RFC 7644 section 3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany';

/** The refusal of a request with 400. */
export function refusal(scimType: ScimType, detail: string): Refused {
  return new Refused('bad_request', { detail, members: { scimType } });
}

/** A value as JSON, cut to the length of a message. */
export function jsonExcerpt(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

export const MAX_CHARS = 1_024;

/** A text; null if it is unset (RFC 7643 section 2.5). @throws Refused 400 `invalidValue` */
export function textOf(value: unknown, attribute: string): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string')
    throw refusal('invalidValue', `${attribute} must be a string, not ${jsonExcerpt(value)}.`);
  if (value.length > MAX_CHARS) throw refusal('invalidValue', `${attribute} has more than ${MAX_CHARS} characters.`);
  // PostgreSQL cannot store NUL.
  if (value.includes('\u0000')) throw refusal('invalidValue', `${attribute} contains a NUL character.`);
  return value;
}

/** A required name. @throws Refused 400 `invalidValue` */
export function requiredName(value: unknown, attribute: string, problemOf: (name: string) => string | null): string {
  const name = textOf(value, attribute) ?? '';
  const problem = name === '' ? 'is required' : problemOf(name);
  if (problem !== null) throw refusal('invalidValue', `${attribute} ${problem}.`);
  return name;
}

/** A boolean, also as the texts `"True"` and `"False"` of Microsoft Entra; null: unset. @throws Refused 400 `invalidValue` */
export function booleanOf(value: unknown, attribute: string): boolean | null {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null;
  const text = typeof value === 'string' ? value.toLowerCase() : null;
  if (text === 'true' || text === 'false') return text === 'true';
  throw refusal('invalidValue', `${attribute} must be true or false, not ${jsonExcerpt(value)}.`);
}

/** The members of an object by their names in lower case. The last of equal names counts. @throws Refused 400 `invalidValue` */
export function membersOf(value: unknown, attribute: string): Map<string, unknown> {
  if (!isObject(value)) {
    throw refusal('invalidValue', `${attribute} must be an object, not ${jsonExcerpt(value)}.`);
  }
  return new Map(Object.entries(value).map(([key, member]): [string, unknown] => [key.toLowerCase(), member]));
}

/** The entries of a list. A single value counts as a list with one entry, and an unset value as an empty list. */
export function entriesOf(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

/** An external id; null if it is unset or empty. @throws Refused 400 `invalidValue` */
export function identifierOf(value: unknown): string | null {
  const text = textOf(value, 'externalId');
  return text === '' ? null : text;
}

/** @throws Refused 400 `mutability` for an id that is not the resource's own */
export function refuseOtherId(value: unknown, id: string | null): void {
  if (id !== null && value !== null && value !== undefined && value !== id) {
    throw refusal('mutability', `id is ${id} and cannot become ${jsonExcerpt(value)}.`);
  }
}

/** The number of an id in canonical decimal form; null for any other text. At most nine digits, so that the number fits PostgreSQL's `integer`. */
export function integerId(text: string): number | null {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}
