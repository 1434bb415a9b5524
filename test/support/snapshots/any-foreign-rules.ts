import fc from 'fast-check';
import { anyRules } from './any-rules.js';

/** The users of `anyForeignRules`, as a list for an import. */
export const FOREIGN_USERS = 'a: g1, g2\nab: g2\nb0\nx$: h\n';

/** What only files of others hold, and Java's patterns among it. */
const PATTERNS = ['a+', '[^a].*', '(?i)AB', '\\w+', '(?!a).*', 'a|b.*', '(b1|a_.*)', '[a-c]{1,2}', '.+', ''];
const GROUPS = ['g1', 'g.', 'g1|h', '.*', ''];
const FILTERS = [
  'a = 1\n AND b = 2',
  'a = current_user',
  "note = ';--'",
  'a = 1 -- all',
  '',
  "(a = 'x') AND (b = 'y')",
];
const OBJECTS = ['user', 'catalog', 'schema', 'table', 'function', 'procedure', 'property'];

type Change =
  | { kind: 'pattern'; key: string; text: string }
  | { kind: 'group' | 'filter'; text: string }
  | { kind: 'role' | 'environment' | 'column' | 'owner' };

/** Texts of rules files that the engine loads: sections are missing, and rules have groups, roles, environments and patterns of Java. */
export function anyForeignRules(): fc.Arbitrary<string> {
  const change: fc.Arbitrary<Change> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('pattern' as const),
        key: fc.constantFrom(...OBJECTS),
        text: fc.constantFrom(...PATTERNS),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('group' as const), text: fc.constantFrom(...GROUPS) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('filter' as const), text: fc.constantFrom(...FILTERS) }) },
    fc.constantFrom<Change>({ kind: 'role' }, { kind: 'environment' }, { kind: 'column' }, { kind: 'owner' }),
  );
  const changes = fc.array(fc.tuple(fc.nat(40), change), { maxLength: 12 });
  return fc
    .tuple(anyRules(), changes, fc.subarray(SECTIONS, { maxLength: 4 }), fc.subarray(RARE_RULES))
    .map(([document, changed, absent, rare]) => {
      const sections: Record<string, object[]> = { ...document };
      for (const name of absent) Reflect.deleteProperty(sections, name);
      const rules = Object.entries(sections).flatMap(([name, list]) => list.map((rule) => ({ name, rule })));
      for (const [at, how] of changed) {
        const found = rules[at % Math.max(1, rules.length)];
        if (found !== undefined && found.name !== 'impersonation') apply(how, found.name, found.rule);
      }
      for (const { section, rule } of rare) (sections[section] ??= []).push(rule);
      return JSON.stringify(sections, null, 1);
    });
}

/** Of sections and kinds that Grantline never writes. */
const RARE_RULES = [
  { section: 'system_information', rule: { user: 'a|b0', allow: ['read', 'write'] } },
  { section: 'system_information', rule: { allow: ['read'] } },
  { section: 'authorization', rule: { original_user: 'ab?', new_user: 'c.*' } },
  { section: 'authorization', rule: { original_group: 'g2', new_role: 'r|s', allow: false } },
  { section: 'authorization', rule: { new_user: 'cc|d', new_role: 'r.*' } },
  { section: 'impersonation', rule: { original_user: '(a)(b?)', new_user: 'x_$1|$2' } },
];

const SECTIONS = [
  'catalogs',
  'schemas',
  'tables',
  'queries',
  'impersonation',
  'functions',
  'procedures',
  'system_information',
  'system_session_properties',
  'catalog_session_properties',
];

function apply(change: Change, section: string, rule: object): void {
  const set = (key: string, value: unknown): void => void Reflect.set(rule, key, value);
  switch (change.kind) {
    case 'pattern':
      if (change.key in rule) set(change.key, change.text);
      return;
    case 'group':
      // The engine knows no groups there.
      if (section !== 'system_information') set('group', change.text);
      return;
    case 'role':
      set('role', 'a.*');
      return;
    case 'filter':
      if (section === 'tables') set('filter', change.text);
      return;
    case 'environment':
      if (section === 'tables') set('filter_environment', { user: 'root' });
      return;
    case 'owner':
      if (section === 'queries') {
        set('queryOwner', 'a|c.*');
        set('allow', ['view', 'kill']);
      }
      if (section === 'catalogs') set('allow', 'owner');
      return;
    case 'column':
      if (section === 'tables') set('columns', [{ name: 'C' }, { name: 'a', mask: 'a\n|| 1', mask_environment: {} }]);
  }
}
