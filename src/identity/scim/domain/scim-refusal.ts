import { Refused } from '../../../kernel/errors.js';

/** Why a request is refused, as clients of SCIM tell refusals apart (RFC 7644 section 3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany';

/** A request that is refused with 400. */
export function invalid(scimType: ScimType, detail: string): Refused {
  return new Refused('bad_request', { detail, members: { scimType } });
}

/** What was given, short enough for a message. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100).replace(/[\ud800-\udbff]$/, '')}…` : text;
}
