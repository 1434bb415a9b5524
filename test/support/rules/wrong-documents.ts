import { compile } from '../../../src/trino-rules/compile/compile.js';
import { FRESH_PREFIX } from '../../../src/trino-rules/document/open-names.js';
import type { RulesDocument, TableRule } from '../../../src/trino-rules/document/rules-document.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { aSnapshot } from '../snapshots/snapshot-builder.js';
import type { Question } from './engine-question.js';

/** Rules that give access beyond the grants, and a question that shows it: the intent denies it, the engine allows it. */
export interface WrongDocument {
  rules: RulesDocument;
  shownBy: Question;
}

/** Ana may read everything of `hr` but what a deny takes, and insert into one table of another schema. */
export const wronged: Snapshot = aSnapshot()
  .user('ana')
  .may('SELECT', 'hr.public')
  .may('INSERT', 'hr.desk.notes')
  .user('bo')
  .snapshot();

const right = compile(wronged).document;
const SA = 'service-account-grantline';
const FIVE_LETTERS = '[a-z][a-z][a-z][a-z][a-z]';
/** A name that a proof could take for unused. */
const UNLIKELY = FRESH_PREFIX;
const SELECT = { privileges: ['SELECT'] } satisfies Partial<TableRule>;
const [public_, desk] = [
  { catalog: 'hr', schema: 'public' },
  { catalog: 'hr', schema: 'desk' },
];

/**
 * Documents that look closed and are not: patterns of more names than can be listed, names that a proof would ask about spelled out
 * and closed before everything else is opened, and `.*`, which stops at the end of a line.
 */
export function wrongDocuments(): Record<string, WrongDocument> {
  const selects = (user: string, schema: string, table: string): Question => ({
    ask: 'select',
    user,
    catalog: 'hr',
    schema,
    table,
    columns: ['id'],
  });
  return {
    'a table of five letters': {
      rules: tables(
        { user: 'ana', ...desk, table: 'aaaaa', privileges: [] },
        { user: 'ana', ...desk, table: FIVE_LETTERS, ...SELECT },
      ),
      shownBy: selects('ana', 'desk', 'salar'),
    },
    'a schema of five letters': {
      rules: tables(
        { user: 'ana', catalog: 'hr', schema: 'aaaaa', privileges: [] },
        { user: 'ana', catalog: 'hr', schema: FIVE_LETTERS, ...SELECT },
      ),
      shownBy: selects('ana', 'vault', 'keys'),
    },
    'a catalog of five letters': {
      rules: {
        ...right,
        catalogs: [
          { catalog: 'aaaaa', allow: 'none' },
          { user: 'ana', catalog: FIVE_LETTERS, allow: 'read-only' },
          ...right.catalogs,
        ],
      },
      shownBy: { ask: 'catalog', user: 'ana', catalog: 'sales' },
    },
    'a user of five letters': {
      rules: {
        ...right,
        catalogs: [
          { user: 'aaaaa', allow: 'none' },
          ...right.catalogs.slice(0, -1),
          { user: FIVE_LETTERS, catalog: 'hr', allow: 'read-only' },
        ],
        tables: [...right.tables, { user: FIVE_LETTERS, ...public_, ...SELECT }],
      },
      shownBy: selects('crook', 'public', 'staff'),
    },
    'impersonation of any name of five letters': {
      rules: {
        ...right,
        impersonation: [
          { new_user: 'aaaaa', allow: false },
          { original_user: SA, new_user: `ana|${FIVE_LETTERS}`, allow: true },
        ],
      },
      shownBy: { ask: 'impersonate', user: SA, name: 'admin' },
    },
    'numbers of seven digits as users': {
      rules: {
        ...right,
        queries: [{ user: 'ana|[0-9][0-9][0-9][0-9][0-9][0-9][0-9]', allow: ['execute'] }, ...right.queries],
      },
      shownBy: { ask: 'execute-query', user: '1234567' },
    },
    'every table but one unlikely name': {
      rules: tables({ user: 'ana', ...desk, table: UNLIKELY, privileges: [] }, { user: 'ana', ...desk, ...SELECT }),
      shownBy: selects('ana', 'desk', 'salaries'),
    },
    'companions of every table but one unlikely name': {
      rules: companions(`${UNLIKELY}[$].*`, '.*[$].*'),
      shownBy: selects('ana', 'desk', 'salaries$files'),
    },
    'companions of a table but one unlikely name': {
      rules: companions(`a[$]${UNLIKELY}([$].*)?`, 'a[$].*'),
      shownBy: selects('ana', 'desk', 'a$files'),
    },
    'every schema but one unlikely name': {
      rules: tables(
        { user: 'ana', catalog: 'hr', schema: `desk|${UNLIKELY}`, privileges: [] },
        { user: 'ana', catalog: 'hr', ...SELECT },
      ),
      shownBy: selects('ana', 'vault', 'keys'),
    },
    'every catalog but one unlikely name': {
      rules: {
        ...right,
        catalogs: [
          ...right.catalogs.slice(0, -1),
          { catalog: `lake|tpch|grantline|${UNLIKELY}`, allow: 'none' },
          { user: 'ana', allow: 'read-only' },
        ],
      },
      shownBy: { ask: 'catalog', user: 'ana', catalog: 'sales' },
    },
    'all users but one unlikely name': {
      rules: {
        ...right,
        queries: [...right.queries, { user: `bo|${UNLIKELY}`, allow: [] }, { allow: ['execute'] }],
      },
      shownBy: { ask: 'execute-query', user: 'crook' },
    },
    'a denial of users with .*': {
      rules: {
        ...right,
        catalogs: [
          { user: 'ana', catalog: 'hr', allow: 'all' },
          { user: '.*', catalog: 'hr', allow: 'none' },
          { catalog: 'hr', allow: 'read-only' },
          ...right.catalogs,
        ],
      },
      shownBy: { ask: 'catalog', user: 'a\u2028b', catalog: 'hr' },
    },
    'a denial of tables with .*': {
      rules: tables({ user: 'ana', ...desk, table: '.*', privileges: [] }, { user: 'ana', ...desk, ...SELECT }),
      shownBy: selects('ana', 'desk', 'a\nb'),
    },
    'a denial of schemas with .*': {
      rules: tables(
        { user: 'ana', catalog: 'hr', schema: '.*', privileges: [] },
        { user: 'ana', catalog: 'hr', ...SELECT },
      ),
      shownBy: selects('ana', 'a\u0085b', 'keys'),
    },
  };
}

function companions(denied: string, given: string): RulesDocument {
  return tables(
    { user: 'ana', ...desk, table: denied, privileges: [] },
    { user: 'ana', ...desk, table: given, ...SELECT },
  );
}

/** In front of what denies, behind what gives: the honest rules stay as they are for all that is named. */
function tables(...rules: TableRule[]): RulesDocument {
  return { ...right, tables: [...right.tables, ...rules] };
}
