import fc from 'fast-check';
import { PatternCache } from '../../../src/trino-rules/document/pattern-cache.js';
import { sizeOf } from '../../../src/trino-rules/document/pattern-meaning.js';
import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
  TABLE_PRIVILEGES,
  type ColumnRule,
  type QueryRight,
  type RulesDocument,
} from '../../../src/trino-rules/document/rules-document.js';

/** Names that patterns of `anyPattern` are likely to match. */
export const RULE_NAMES = [
  'a',
  'ab',
  'b',
  'b0',
  'b1',
  'a.b',
  'axb',
  'a_1',
  'system',
  'information_schema',
  'x$',
  '[a]',
  '日',
];

/** Any pattern of the common subset: alternatives, classes, optional pieces, groups, `.*`. */
export function anyPattern(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('.*', ...RULE_NAMES.map(escaped)) },
    {
      weight: 2,
      arbitrary: fc
        .uniqueArray(fc.constantFrom(...RULE_NAMES.map(escaped)), { minLength: 1, maxLength: 4 })
        .map((names) => names.join('|')),
    },
    { weight: 2, arbitrary: anyAlternatives(2).filter((text) => !/^\||\|$|\|\|/.test(text) && text !== '') },
  );
}

/**
 * Random documents whose rules overlap, contradict and shadow each other, in every section.
 * @param maxNames of a pattern without `.*`, at most
 */
export function anyRules(maxNames = Infinity): fc.Arbitrary<RulesDocument> {
  const some = <T>(rule: fc.Arbitrary<T>, maxLength = 6): fc.Arbitrary<T[]> => fc.array(rule, { maxLength });
  const patterns = new PatternCache();
  const pattern = anyPattern().filter((text) => {
    const { names } = sizeOf(patterns.parse(text));
    return names <= maxNames || names === Infinity;
  });
  const names = { user: pattern, catalog: pattern };
  const optional = <T, R extends keyof T>(record: { [K in keyof T]: fc.Arbitrary<T[K]> }, ...requiredKeys: R[]) =>
    fc.record(record, { requiredKeys });
  return fc.record({
    catalogs: some(optional({ ...names, allow: fc.constantFrom('all', 'read-only', 'none') }, 'allow')),
    schemas: some(optional({ ...names, schema: pattern, owner: fc.boolean() }, 'owner')),
    tables: some(
      optional(
        {
          ...names,
          schema: pattern,
          table: pattern,
          privileges: fc.subarray([...TABLE_PRIVILEGES]),
          columns: fc.uniqueArray(anyColumn(), { selector: ({ name }) => name, maxLength: 3 }),
          filter: fc.constantFrom('true', "a = 'x'"),
        },
        'privileges',
      ),
      8,
    ),
    queries: some(
      fc.oneof(
        optional({ user: pattern, allow: fc.subarray([...QUERY_RIGHTS]) }, 'allow'),
        optional(
          { user: pattern, queryOwner: pattern, allow: fc.subarray<QueryRight>(['view', 'kill']) },
          'allow',
          'queryOwner',
        ),
      ),
      4,
    ),
    impersonation: some(
      optional(
        { original_user: pattern, new_user: pattern.filter((text) => !/[$\\]/.test(text)), allow: fc.boolean() },
        'new_user',
        'allow',
      ),
    ),
    functions: some(
      optional(
        {
          ...names,
          schema: pattern,
          function: pattern,
          privileges: fc.subarray([...FUNCTION_PRIVILEGES]),
        },
        'privileges',
      ),
    ),
    procedures: some(
      optional(
        { ...names, schema: pattern, procedure: pattern, privileges: fc.subarray([...PROCEDURE_PRIVILEGES]) },
        'privileges',
      ),
    ),
    system_information: some(
      optional({ user: pattern, allow: fc.subarray([...SYSTEM_INFORMATION_RIGHTS]) }, 'allow'),
      3,
    ),
    system_session_properties: some(optional({ user: pattern, property: pattern, allow: fc.boolean() }, 'allow')),
    catalog_session_properties: some(optional({ ...names, property: pattern, allow: fc.boolean() }, 'allow')),
  });
}

function anyColumn(): fc.Arbitrary<ColumnRule> {
  return fc.record(
    { name: fc.constantFrom('a', 'b', 'ab'), allow: fc.boolean(), mask: fc.constantFrom('NULL', "'*'") },
    { requiredKeys: ['name'] },
  );
}

function anyAlternatives(depth: number): fc.Arbitrary<string> {
  return fc.array(anySequence(depth), { minLength: 1, maxLength: 3 }).map((options) => options.join('|'));
}

function anySequence(depth: number): fc.Arbitrary<string> {
  return fc.array(anyPiece(depth), { maxLength: 3 }).map((pieces) => pieces.join(''));
}

function anyPiece(depth: number): fc.Arbitrary<string> {
  const atom = fc.constantFrom('a', 'b', '0', '1', '_', '[ab]', '[0-1]', '[.]', '[01_]', '\\[', '[$]');
  const whole =
    depth > 0
      ? fc.oneof(
          { weight: 3, arbitrary: atom },
          anyAlternatives(depth - 1).map((text) => `(${text})`),
        )
      : atom;
  return fc.oneof(
    { weight: 8, arbitrary: fc.tuple(whole, fc.constantFrom('', '', '?')).map((piece) => piece.join('')) },
    fc.constant('.*'),
  );
}

function escaped(name: string): string {
  return name.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}
