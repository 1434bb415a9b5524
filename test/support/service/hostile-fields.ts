import { changed, without, type HostileFile } from '../rules/good-rules.js';

const PATTERN_KEYS: Record<string, readonly string[]> = {
  catalogs: ['user', 'catalog'],
  schemas: ['user', 'catalog', 'schema'],
  tables: ['user', 'catalog', 'schema', 'table'],
  queries: ['user'],
  impersonation: ['original_user', 'new_user'],
  functions: ['user', 'catalog', 'schema', 'function'],
  procedures: ['user', 'catalog', 'schema', 'procedure'],
  system_information: ['user'],
  system_session_properties: ['user', 'property'],
  catalog_session_properties: ['user', 'catalog', 'property'],
};

/** Numbers that Java refuses, JavaScript reads differently, or both read wrongly. */
const UNSAFE = [
  ...[
    '(',
    ')',
    '[',
    '(a',
    'a)',
    '[a',
    'a[',
    '*',
    '+',
    '?',
    '*a',
    'a**',
    'a++',
    'a*+',
    'a??',
    'a{2}',
    'a{2',
    'a{',
    'a{,3}',
  ],
  ...[
    '[]',
    '[^]',
    '[^a]',
    '[z-a]',
    '[a-]',
    '[-a]',
    '[a-Z]',
    '[A-z]',
    '[0-z]',
    '[a&&b]',
    '[a[b]]',
    '[[a]]',
    '[\\d]',
    '[é]',
  ],
  ...[
    '.',
    'a.b',
    '.+',
    '.?',
    '^a',
    'a$',
    '$',
    '^',
    '{user}',
    '(?i)ana',
    '(?:a)',
    '(?=a)',
    '(?<n>a)',
    '(?>a)',
    '(?x) a',
  ],
  ...[
    '\\',
    'a\\',
    '\\d',
    '\\w+',
    '\\y',
    '\\Qa\\E',
    '\\1',
    '\\0',
    '\\u0061',
    '\\x61',
    '\\h',
    '\\A',
    '\\z',
    '\\R',
    '\\p{L}',
    '\\k<n>',
  ],
  ...['|', 'a|', '|a', 'a||b', 'é?', '😀?', 'a*', 'a+', '.*?', '.*+', '.**', ']', '}', 'a]', 'a}'],
];

export function patterns(): HostileFile[] {
  const everywhere = Object.entries(PATTERN_KEYS).flatMap(([section, names]) =>
    names.flatMap((key) => [
      changed(`an empty ${key} in ${section}`, section, { [key]: '' }, 'rules-pattern-empty'),
      changed(`a null ${key} in ${section}`, section, { [key]: null }, 'rules-null'),
      changed(`a number as ${key} in ${section}`, section, { [key]: 5 }, 'rules-wrong-type'),
      changed(`true as ${key} in ${section}`, section, { [key]: true }, 'rules-wrong-type'),
      changed(`a list as ${key} in ${section}`, section, { [key]: ['a'] }, 'rules-wrong-type'),
    ]),
  );
  return [
    ...everywhere,
    ...UNSAFE.map((pattern) => changed(`the pattern ${pattern}`, 'tables', { table: pattern }, 'rules-pattern-unsafe')),
    changed(
      'a deeply nested pattern',
      'tables',
      { table: `${'('.repeat(5000)}a${')'.repeat(5000)}` },
      'rules-pattern-unsafe',
    ),
  ];
}

export function values(): HostileFile[] {
  const wrong = (section: string, key: string, value: unknown, code: string): HostileFile =>
    changed(`${section}: ${key} ${JSON.stringify(value)}`, section, { [key]: value }, code);
  const booleans = [
    'schemas.owner',
    'impersonation.allow',
    'system_session_properties.allow',
    'catalog_session_properties.allow',
  ];
  return [
    ...['READ-ONLY', 'All', 'read_only', 'owner', 'true', '', 'yes'].map((allow) =>
      wrong('catalogs', 'allow', allow, 'rules-value-unknown'),
    ),
    ...[true, false, 1, 0, ['all']].map((allow) => wrong('catalogs', 'allow', allow, 'rules-value-unknown')),
    ...booleans.flatMap((field) => {
      const [section = '', key = ''] = field.split('.');
      return [
        ...['true', 'false', 'TRUE', 'yes', '', 1, 0, 0.5, []].map((value) =>
          wrong(section, key, value, 'rules-wrong-type'),
        ),
        wrong(section, key, null, 'rules-null'),
        without(section, key),
      ];
    }),
    ...['tables', 'functions', 'procedures'].flatMap((section) => [
      ...['select', 'Execute', ' SELECT ', 'ALL', '', '0', 0, 5, null, true, ['SELECT']].map((privilege) =>
        wrong(section, 'privileges', [privilege], 'rules-value-unknown'),
      ),
      wrong(section, 'privileges', 'SELECT', 'rules-wrong-type'),
      wrong(section, 'privileges', null, 'rules-null'),
      without(section, 'privileges'),
    ]),
    wrong('tables', 'privileges', ['SELECT', 'SELECT'], 'rules-value-repeated'),
    ...['Execute', 'EXECUTE', 'read', '', 0, null].map((mode) =>
      wrong('queries', 'allow', [mode], 'rules-value-unknown'),
    ),
    wrong('queries', 'allow', true, 'rules-wrong-type'),
    wrong('queries', 'allow', 'execute', 'rules-wrong-type'),
    without('queries', 'allow'),
    ...['execute', 'READ', '', 0, null].map((right) =>
      wrong('system_information', 'allow', [right], 'rules-value-unknown'),
    ),
    without('system_information', 'allow'),
    without('catalogs', 'allow'),
    without('impersonation', 'new_user'),
    ...['', ' ', '\t'].map((filter) => wrong('tables', 'filter', filter, 'rules-text-empty')),
    ...[1, true, ['true'], { expression: 'true' }].map((filter) =>
      wrong('tables', 'filter', filter, 'rules-wrong-type'),
    ),
  ];
}

export function columns(): HostileFile[] {
  const list = (name: string, value: unknown, code: string): HostileFile =>
    changed(name, 'tables', { columns: value }, code);
  return [
    list('columns: null', null, 'rules-null'),
    list('columns: an object', { name: 'card' }, 'rules-wrong-type'),
    list('columns: texts', ['card'], 'rules-wrong-type'),
    list('columns: null in the list', [null], 'rules-wrong-type'),
    list('a column in upper case', [{ name: 'CARD', mask: 'NULL' }], 'rules-column-case'),
    list(
      'a column twice',
      [
        { name: 'card', allow: false },
        { name: 'card', mask: 'NULL' },
      ],
      'rules-column-repeated',
    ),
    list('a column without a name', [{ mask: 'NULL' }], 'rules-value-missing'),
    list('a column with an empty name', [{ name: '', mask: 'NULL' }], 'rules-text-empty'),
    list('a column named by a number', [{ name: 5 }], 'rules-wrong-type'),
    list('a hidden column as a text', [{ name: 'card', allow: 'false' }], 'rules-wrong-type'),
    list('a hidden column as null', [{ name: 'card', allow: null }], 'rules-null'),
    list('an empty mask', [{ name: 'card', mask: '' }], 'rules-text-empty'),
    list('a mask that is a number', [{ name: 'card', mask: 0 }], 'rules-wrong-type'),
    list(
      'a mask for another user',
      [{ name: 'card', mask: 'x', mask_environment: { user: 'x' } }],
      'rules-key-unknown',
    ),
    list('a column with a type', [{ name: 'card', type: 'varchar' }], 'rules-key-unknown'),
  ];
}

/** They load, and then each check that reaches the rule throws, or lets another user through. */
export function newUsers(): HostileFile[] {
  return [
    ...['\\$1', 'us[$]x', '\\\\', 'a\\[b', 'ana|\\$'].map((name) =>
      changed(`new_user ${name}`, 'impersonation', { new_user: name }, 'rules-new-user-unsafe'),
    ),
    ...['$1', 'person-$1', '${n}', 'us$', 'a\\.b'].map((name) =>
      changed(
        `new_user ${name}`,
        'impersonation',
        { new_user: name },
        name === 'a\\.b' ? 'rules-new-user-unsafe' : 'rules-pattern-unsafe',
      ),
    ),
  ];
}
