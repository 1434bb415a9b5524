import { changed, file, files, GOOD, GOOD_RULES, type HostileFile } from './good-rules.js';
import { columns, newUsers, patterns, values } from '../service/hostile-fields.js';
import { encodings, syntax } from '../service/hostile-json.js';

/** Files that the engine refuses or interprets differently than they look. */
export function hostileFiles(): HostileFile[] {
  return [
    ...encodings(),
    ...syntax(),
    ...sections(),
    ...keys(),
    ...patterns(),
    ...values(),
    ...columns(),
    ...newUsers(),
  ];
}

function sections(): HostileFile[] {
  return Object.keys(GOOD).flatMap((section) => {
    const { [section]: rules, ...others } = GOOD;
    const instead = (value: string): string =>
      GOOD_RULES.replace(`"${section}":${JSON.stringify(rules)}`, `"${section}":${value}`);
    return [
      // Absent, it is closed.
      ...(section === 'system_information'
        ? []
        : files('rules-section-missing', { [`no ${section}`]: JSON.stringify(others) })),
      ...files('rules-section-not-a-list', {
        [`${section}: null`]: instead('null'),
        [`${section}: an object`]: instead('{}'),
        [`${section}: a text`]: instead('""'),
        [`${section}: true`]: instead('true'),
      }),
      ...files('rules-wrong-type', {
        [`${section}: a null rule`]: instead('[null]'),
        [`${section}: a text as a rule`]: instead('["x"]'),
        [`${section}: a list as a rule`]: instead('[[]]'),
      }),
      ...files('json-duplicate-key', { [`${section} twice`]: GOOD_RULES.replace(/\}$/, `,"${section}":[]}`) }),
      ...files('rules-section-unknown', {
        [`${section} in upper case`]: JSON.stringify({ ...GOOD, [section.toUpperCase()]: rules }),
      }),
    ];
  });
}

function keys(): HostileFile[] {
  const unknown = ['users', 'User', 'comment', '_comment', 'role', 'group', 'branch', 'original_role', 'allow_all'];
  return [
    ...['principals', 'authorization', 'version', 'session_properties'].map((section) =>
      file(`the section ${section}`, JSON.stringify({ ...GOOD, [section]: [] }), 'rules-section-unknown'),
    ),
    ...unknown.map((key) => changed(`a table rule with ${key}`, 'tables', { [key]: 'x' }, 'rules-key-unknown')),
    changed('a query rule by owner that lets execute', 'queries', { queryOwner: 'bo' }, 'rules-value-unknown'),
    changed('an impersonation rule by group', 'impersonation', { original_group: 'x' }, 'rules-key-unknown'),
    changed('the other spelling of new_user', 'impersonation', { newUser: 'bo' }, 'rules-key-unknown'),
    changed('a filter for another user', 'tables', { filter_environment: { user: 'x' } }, 'rules-key-unknown'),
    changed('kinds of functions', 'functions', { function_kinds: ['SCALAR'] }, 'rules-key-unknown'),
    ...['user', 'catalog', 'privileges'].map((key) =>
      file(`${key} twice in a rule`, GOOD_RULES.replace('"table":', `"${key}":"x","table":`), 'json-duplicate-key'),
    ),
  ];
}
