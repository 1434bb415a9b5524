import fc from 'fast-check';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { diffForeign } from '../foreign/foreign-diff.js';
import { checkText } from './check-text.js';
import { ENGINE_FORMAT, SECTION_NAMES, type SectionFormat } from './engine-format.js';
import { readLeniently } from './lenient-reader.js';

const ETL = {
  serviceAccounts: ['etl'],
  writableCatalogs: ['lake'],
  readableCatalogs: ['ref'],
  metadataCatalog: 'meta',
};
const ALL = { privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] };
const MODES = [
  { user: 'etl', catalog: 'lake', allow: 'all' },
  { user: 'etl', catalog: 'ref', allow: 'read-only' },
];
const OWNER = { user: 'etl', catalog: 'lake', owner: true };
const TABLES = [
  { user: 'etl', catalog: 'lake', ...ALL },
  { user: 'etl', catalog: 'ref', privileges: ['SELECT'] },
];

/** Findings about invariants, with what they say of tables. */
function broken(sections: object): string[] {
  const text = JSON.stringify({ catalogs: MODES, schemas: [OWNER], tables: TABLES, ...sections });
  return checkText(text, ETL)
    .filter(({ code }) => code.startsWith('invariant'))
    .map(({ code, rule }) => `${code} ${rule ?? ''}`.trim());
}

describe('the invariants in any rules file', () => {
  it('hold where nothing comes before the rules of the service account', () => expect(broken({})).toEqual([]));

  it.each(['[a-z]+', '[a-z]{5}', '\\w+', '.{100,}', '[^a]{1,9}', '😀', '.', '(?i)TMP.*', '[0-9].*'])(
    'break behind a denial of %s, as a table, a schema and a name to read',
    (pattern) => {
      const denied = (...fields: string[]) => ({ ...Object.fromEntries(fields.map((field) => [field, pattern])) });
      const closed = { ...denied('table'), catalog: 'lake', privileges: ['SELECT'] };
      expect(broken({ tables: [closed, ...TABLES] })).toEqual(['invariant-writable-catalog tables[0]']);
      const unowned = { ...denied('schema'), catalog: 'lake', owner: false };
      expect(broken({ schemas: [unowned, OWNER] })).toEqual(['invariant-writable-catalog schemas[0]']);
      const unread = { ...denied('schema'), catalog: 'ref', privileges: [] };
      expect(broken({ tables: [unread, ...TABLES] })).toEqual(['invariant-readable-catalog']);
    },
  );

  it('break where somebody may enter the metadata catalog whom an earlier open pattern does not match', () => {
    const open = [
      { user: 'a.*', catalog: 'meta', allow: 'none' },
      { user: '[a-z]+', catalog: 'meta', allow: 'read-only' },
      { catalog: 'meta', allow: 'none' },
    ];
    expect(broken({ catalogs: [...MODES, ...open] })).toEqual(['invariant-metadata-catalog catalogs[3]']);
  });
});

it.each(['user', 'group', 'catalog', 'schema', 'table'])(
  'tells that a look-ahead in %s is too large to be judged',
  (field) => {
    const names = Array.from({ length: 100 }, (_, i) => `${String.fromCodePoint(0x61 + (i % 26))}_account_${i}`);
    const rule = { [field]: `(?!(?:${names.join('|')})$).*`, privileges: ['SELECT'] };
    const codes = checkText(JSON.stringify({ tables: [rule] }), ETL).map(({ code }) => code);
    expect(codes).toContain('pattern-not-judged');
  },
);

describe('the rules of a single catalog', () => {
  const FILE = {
    schemas: [{ user: 'ana', schema: 'lab', owner: true }],
    tables: [
      { user: 'ana', schema: 'lab', privileges: ['SELECT', 'INSERT'], filter: '(' },
      { user: 'ana', schema: 'lab', privileges: [] },
    ],
    session_properties: [{ user: 'ana', property: '.*', allow: true }],
  };
  const codes = (document: object, isOfOneCatalog: boolean) =>
    checkText(JSON.stringify(document), { ...ETL, serviceAccounts: [], metadataCatalog: null, isOfOneCatalog }).map(
      ({ code, rule }) => `${code} ${rule ?? ''}`.trim(),
    );

  it('are recognised, and judged as such when that is said', () => {
    expect(codes(FILE, false)).toEqual(expect.arrayContaining(['rules-of-one-catalog', 'rules-section-unknown']));
    expect(codes(FILE, true)).toEqual(['expression-syntax tables[0]', 'dead-rule tables[1]']);
  });

  it('have no sections of the cluster, and no catalog in a rule', () => {
    const other = { tables: [{ catalog: 'lake', privileges: [] }], queries: [], schemas: [] };
    expect(codes(other, true)).toEqual(['rules-key-unknown tables[0]', 'rules-section-unknown']);
    expect(codes({ tables: [{ catalog: 'lake', privileges: [] }] }, false)).not.toContain('rules-of-one-catalog');
  });
});

describe("the user's name in a pattern", () => {
  const codes = (rules: object[], trino?: number) =>
    checkText(JSON.stringify({ tables: rules }), {
      ...ETL,
      serviceAccounts: [],
      metadataCatalog: null,
      ...(trino && { trino }),
    })
      .filter(({ code }) => /pattern|dead-rule|refused/.test(code))
      .map(({ code, rule }) => `${code} ${rule ?? ''}`);

  it('is taken from 484 on, for catalogs, schemas and tables', () => {
    const rules = [
      { schema: 'of_{user}', privileges: ['SELECT'] },
      { schema: 'of_{user}', privileges: [] },
      { schema: 'of_ana', privileges: [] },
      { user: '{user}', privileges: [] },
    ];
    expect(codes(rules, 484)).toEqual(['rules-pattern-invalid tables[3]']);
    expect(codes(rules)).toEqual([0, 1, 3].map((index) => `rules-pattern-invalid tables[${index}]`));
  });
});

const NAMES = [FRESH_PREFIX, `${FRESH_PREFIX}1`, `${FRESH_PREFIX}|ana`, 'etl', 'lake', 'meta', 'ana'];
const PATTERNS = [
  ...NAMES,
  '.*',
  '[a-z]+',
  'fresh.*',
  `(${FRESH_PREFIX}|b).*`,
  '(?=a)\\w+',
  '[a-z]{3}',
  '😀?',
  '\\$1',
  '$1',
];

/** Rules of every section; fields that are no patterns are left out. */
function anySections(): fc.Arbitrary<object> {
  const rule = (section: keyof typeof ENGINE_FORMAT) => {
    const { fields }: SectionFormat = ENGINE_FORMAT[section];
    const patterns = Object.entries(fields).filter(([key, { kind }]) => kind === 'pattern' || key === 'new_user');
    const record = Object.fromEntries(patterns.map(([key]) => [key, fc.constantFrom(...PATTERNS)]));
    return fc.record(record, { requiredKeys: [] }).map((found) => ({
      ...(Object.hasOwn(fields, 'new_user') && { new_user: 'ana' }),
      ...(Object.hasOwn(fields, 'privileges') && { privileges: [] }),
      ...found,
    }));
  };
  const sections = SECTION_NAMES.filter((name) => name !== 'principals');
  return fc.record(Object.fromEntries(sections.map((name) => [name, fc.array(rule(name), { maxLength: 4 })])), {
    requiredKeys: [],
  });
}

/** Whatever comes out of it, unless it is too much work. */
function compared(compare: () => unknown): void {
  try {
    compare();
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
  }
}

describe('a document that spells the names that stand for all others', () => {
  it('is checked and compared like any other', () => {
    fc.assert(
      fc.property(anySections(), anySections(), (before, after) => {
        const [one, other] = [before, after].map((sections) => readLeniently(JSON.stringify(sections)).rules);
        checkText(JSON.stringify(before), { ...ETL, serviceAccounts: [FRESH_PREFIX] });
        if (!one || !other) return;
        const users = [
          { name: FRESH_PREFIX, groups: ['ana'] },
          { name: 'etl', groups: [] },
        ];
        for (const listed of [null, users]) compared(() => diffForeign(one, other, listed, new WorkBudget(10_000_000)));
      }),
      { numRuns: 100 },
    );
  });
});

/** As Trino 483 was seen to match them. */
describe('a number where a pattern belongs', () => {
  it.each([
    ['7', '7'],
    ['-0', '0'],
    ['1.50', '1.5'],
    ['1e2', '100.0'],
    ['1E400', 'Infinity'],
    ['9223372036854775808', '9223372036854775808'],
  ])('is the text that Java makes of it: %s', (written, text) => {
    const { rules } = readLeniently(`{"tables":[{"user":${written},"privileges":[]}]}`);
    expect(rules?.get('tables')?.[0]?.patterns.get('user')?.text).toBe(text);
  });
});
