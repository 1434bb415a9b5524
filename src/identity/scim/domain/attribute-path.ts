/** `name.familyName`: both parts in lower case, because attributes are compared without case (RFC 7643 section 2.1). */
export interface AttributePath {
  attribute: string;
  sub: string | null;
  /** Of an extension or any other schema than the core ones: accepted and not kept. */
  isForeign: boolean;
}

/** The URNs of resources end with the type; other texts that begin so are attributes of them. */
export const CORE_SCHEMAS = {
  User: 'urn:ietf:params:scim:schemas:core:2.0:User',
  Group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
} as const;

const CORE = new Set(Object.values(CORE_SCHEMAS).map((urn) => urn.toLowerCase()));
const NAME = /^\$?[a-z_][\w$-]*$/;

/**
 * An attribute's path (RFC 7644 section 3.10), with the URN of its schema or without.
 * @returns null: it is none
 */
export function attributePath(text: string): AttributePath | null {
  const lower = text.toLowerCase();
  const end = lower.startsWith('urn:') ? lower.lastIndexOf(':') : -1;
  const isForeign = end >= 0 && !CORE.has(lower.slice(0, end));
  // Names of other schemas' attributes are not judged: nothing is read or written by them.
  if (isForeign) return { attribute: lower, sub: null, isForeign };
  const [attribute = '', sub = null, ...more] = lower.slice(end + 1).split('.');
  const isPath = NAME.test(attribute) && (sub === null || NAME.test(sub)) && more.length === 0;
  return isPath ? { attribute, sub, isForeign } : null;
}

/** Whether a key of a body is the URN of a core schema, whose attributes are its value. */
export function isCoreSchema(key: string): boolean {
  return CORE.has(key.toLowerCase());
}
