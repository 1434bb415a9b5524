import { attributePath } from './attribute-path.js';
import { invalid } from './scim-refusal.js';

/** Which attributes an answer has: only these, or all but these; in lower case, `name` or `name.givenname`. */
export interface Selection {
  only: ReadonlySet<string> | null;
  without: ReadonlySet<string>;
}

/** Each is looked for in each resource of an answer. */
const MOST_NAMES = 100;
/** Always returned (RFC 7643 section 3.1 and 7). */
const ALWAYS = new Set(['id', 'schemas']);

/** Of `attributes` and `excludedAttributes` (RFC 7644 section 3.9). @throws Refused 400 where both are given */
export function selectionOf(attributes: string | undefined, excluded: string | undefined): Selection {
  if (attributes !== undefined && excluded !== undefined) {
    throw invalid('invalidValue', 'attributes and excludedAttributes cannot be combined.');
  }
  return { only: attributes === undefined ? null : namesIn(attributes), without: namesIn(excluded ?? '') };
}

/** Whether an attribute is wanted, or a part of it: what is not need not be read. */
export function wants({ only, without }: Selection, attribute: string): boolean {
  if (only === null) return !without.has(attribute);
  return [...only].some((name) => name === attribute || name.startsWith(`${attribute}.`));
}

/** The resource with the attributes that are wanted. */
export function selected(resource: object, selection: Selection): object {
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]: [string, unknown]) => {
      const attribute = name.toLowerCase();
      if (ALWAYS.has(attribute) || selection.only?.has(attribute) === true) return [[name, value]];
      return wants(selection, attribute) ? [[name, parts(value, attribute, selection)]] : [];
    }),
  );
}

function parts(value: unknown, attribute: string, { only, without }: Selection): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => parts(entry, attribute, { only, without }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => {
      const path = `${attribute}.${name.toLowerCase()}`;
      return only === null ? !without.has(path) : only.has(path);
    }),
  );
}

function namesIn(list: string): Set<string> {
  const names = list.split(',');
  if (names.length > MOST_NAMES) throw invalid('tooMany', `More than ${MOST_NAMES} attributes are named.`);
  const paths = names.map((name) => attributePath(name.trim()));
  return new Set(
    paths.flatMap((path) =>
      path === null ? [] : [path.sub === null ? path.attribute : `${path.attribute}.${path.sub}`],
    ),
  );
}
