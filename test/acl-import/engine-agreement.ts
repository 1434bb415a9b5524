import { readSource } from '../../src/commands/check/rules-source.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import type { ImportFinding } from '../../src/rules-files/import/import-finding.js';
import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { tablesOfSystem } from '../../src/rules-files/import/system-tables.js';
import { withoutParentheses } from '../../src/trino-rules/engine/schema-tables.js';
import type { Answer, Question, RareQuestion } from '../support/rules/engine-question.js';
import { importCase, type PublishedCase } from './published-cases.js';

export type AskedQuestion = (Question | RareQuestion) & { groups: readonly string[] };

/** Asks the engine with a text of rules; a text that it refuses is an error. */
export type AskEngine = (
  rules: string,
  questions: readonly AskedQuestion[],
) => Promise<readonly (Answer | { error: string })[]>;

export interface Agreement {
  asked: number;
  /** Questions that the imported rules answer with yes, or a filter, or a mask. */
  granted: number;
  /** Answers that give more, or less than no finding mentions. */
  wrong: { question: AskedQuestion; before: unknown; after: unknown }[];
}

/**
 * Imports, compiles, and asks the engine the same questions with both rules: every listed user on every named and unnamed node.
 * @param mostNames of each level
 */
export async function agreement(
  published: Pick<PublishedCase, 'users' | 'rules'>,
  ask: AskEngine,
  mostNames = 12,
): Promise<Agreement> {
  const { snapshot, findings, users } = await importCase(published);
  const rules = (await readSource(published.rules)).rules[0]?.text ?? '';
  const words = wordsOf(rules, mostNames);
  const questions = users.flatMap((user) => questionsOf(user, words));
  const before = await ask(rules, questions);
  const after = await ask(compile(snapshot).text, questions);
  const isOpenAfter = new Map(
    questions.map((question, i) => [questionKey(question), question.ask === 'select' && after[i] === true]),
  );
  const wrong = questions.flatMap((question, i): Agreement['wrong'] => {
    const [was, is] = [before[i] ?? null, after[i] ?? null];
    if (question.ask === 'filters' || question.ask === 'mask') {
      const select = { ...question, ask: 'select', columns: question.ask === 'mask' ? [question.name] : [] };
      // A restriction of what may not be read is none.
      if (isOpenAfter.get(questionKey(select)) !== true) return [];
      return canonical(was) === canonical(is) ? [] : [{ question, before: was, after: is }];
    }
    if (canonical(was) === canonical(is) || isAboutBuiltin(question)) return [];
    const code = is === true ? 'more' : 'less';
    if (code === 'less' && isWithoutEffect(question)) return [];
    return findings.some((finding) => covers(finding, question, code)) ? [] : [{ question, before: was, after: is }];
  });
  const granted = after.filter((answer) => canonical(answer) !== 'false' && canonical(answer) !== 'null').length;
  return { asked: questions.length, granted, wrong };
}

/** No statement depends on entering `system` alone, or on tables that it has not got. */
function isWithoutEffect(question: AskedQuestion): boolean {
  if (!('catalog' in question) || question.catalog !== 'system') return false;
  if (question.ask !== 'select') return question.ask === 'catalog';
  return !tablesOfSystem(question.schema).includes(question.table);
}

/** The engine executes its own functions without asking. */
export function isAboutBuiltin(question: AskedQuestion): boolean {
  const isRoutine = ['function', 'view-with-function', 'procedure'].includes(question.ask);
  return isRoutine && 'schema' in question && question.catalog === 'system' && question.schema === 'builtin';
}

function questionKey(question: object): string {
  const { user, catalog, schema, table, columns }: Record<string, unknown> = { ...question };
  return JSON.stringify([user, catalog, schema, table, columns]);
}

/** Equal for answers that mean the same: a compiled filter has parentheses around it, and white space means nothing. */
export function canonical(answer: unknown): string {
  const bare = (sql: string): string => {
    const inner = withoutParentheses(sql);
    return inner === sql ? sql : bare(inner);
  };
  const text = (sql: string): string => bare(sql.replace(/\s+/g, ' '));
  if (Array.isArray(answer)) return JSON.stringify(answer.map((each) => text(String(each))).sort());
  return typeof answer === 'string' ? text(answer) : JSON.stringify(answer);
}

/** A name that no file holds. */
const FRESH = 'zz_unnamed';

export interface RuleWords {
  catalogs: string[];
  schemas: string[];
  tables: string[];
  columns: string[];
  routines: string[];
  properties: string[];
  users: string[];
}

/** The names that patterns of a text hold, with something for each `.*`, and one that none holds. */
export function wordsOf(rules: string, most: number): RuleWords {
  const of = (...keys: string[]): string[] => {
    const found = [...rules.matchAll(new RegExp(`"(?:${keys.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)"`, 'g'))];
    const names = found.flatMap(([, pattern = '']) => namesIn(pattern));
    return [...new Set([FRESH, ...names])].slice(0, most);
  };
  return {
    catalogs: [...new Set([...of('catalog'), 'system', 'lake'])],
    // Governed by the catalog alone.
    schemas: of('schema').filter((name) => name !== 'information_schema'),
    tables: of('table'),
    columns: of('name'),
    routines: of('function', 'procedure'),
    properties: of('property'),
    users: of('new_user', 'newUser', 'queryOwner'),
  };
}

function namesIn(pattern: string): string[] {
  const plain = pattern.replace(/\\\\[QE]|\(\?[a-z!:]+|[\^$]/g, '').replace(/\\\\d/g, '7');
  const alternatives = /^([^()]*)\(([^()]*)\)([^()]*)$/.exec(plain);
  const names =
    alternatives === null
      ? plain.split('|')
      : (alternatives[2] ?? '').split('|').map((each) => `${alternatives[1] ?? ''}${each}${alternatives[3] ?? ''}`);
  return names
    .map((name) =>
      name
        .replace(/\[([^\]^])[^\]]*\](?:\{2\})?/g, '$1')
        .replace(/\[\^.*?\]/g, 'q')
        .replace(/[.][*+]|\+/g, 'zz')
        .replace(/[()?]/g, '')
        .toLowerCase(),
    )
    .filter((name) => name !== '');
}

export function questionsOf({ name: user, groups }: ListedUser, words: RuleWords): AskedQuestion[] {
  const who = { user, groups };
  const perUser = [
    { ...who, ask: 'execute-query' as const },
    ...words.users.flatMap((name) =>
      (['view-query', 'kill-query', 'impersonate'] as const).map((ask) => ({ ...who, ask, name })),
    ),
    ...words.properties.map((name) => ({ ...who, ask: 'system-property' as const, name })),
  ].filter((question) => !('name' in question) || question.name !== user);
  const perCatalog = words.catalogs.flatMap((catalog) => [
    { ...who, ask: 'catalog' as const, catalog },
    ...words.properties.map((name) => ({ ...who, ask: 'catalog-property' as const, catalog, name })),
  ]);
  const schemas = words.catalogs.flatMap((catalog) => words.schemas.map((schema) => ({ ...who, catalog, schema })));
  const perSchema = schemas.flatMap((schema) => [
    { ...schema, ask: 'create-schema' as const },
    { ...schema, ask: 'drop-schema' as const },
    ...words.routines.flatMap((name) =>
      (['function', 'view-with-function', 'procedure'] as const).map((ask) => ({ ...schema, ask, name })),
    ),
  ]);
  const tables = schemas.flatMap((schema) => words.tables.map((table) => ({ ...schema, table })));
  const perTable = tables.flatMap((table): AskedQuestion[] => [
    ...(['select', 'update', 'view-with-select'] as const).map((ask) => ({ ...table, ask, columns: [] })),
    ...words.columns.flatMap((name): AskedQuestion[] => [
      { ...table, ask: 'select', columns: [name] },
      { ...table, ask: 'mask', name },
    ]),
    ...(['insert', 'delete', 'truncate', 'create-table', 'drop-table', 'create-view', 'filters'] as const).map(
      (ask) => ({ ...table, ask }),
    ),
  ]);
  return [...perUser, ...perCatalog, ...perSchema, ...perTable];
}

/** About a user altogether, or about rules whose patterns could not be judged. */
const OF_USERS = ['import-no-queries', 'import-no-principal', 'import-no-groups', 'import-pattern-not-judged'];

/** Whether a finding mentions that an answer changes. */
function covers({ code, people, what }: ImportFinding, question: AskedQuestion, change: 'more' | 'less'): boolean {
  if (!people.includes(question.user)) return false;
  if (change === 'more') return code === 'import-basic-access' && what.some((each) => mentions(each, question));
  return OF_USERS.includes(code) || (code !== 'import-basic-access' && what.some((each) => mentions(each, question)));
}

function mentions(text: string, question: AskedQuestion): boolean {
  const word = (name: string, level: string): boolean =>
    text.includes(`(any other ${level})`) ||
    new RegExp(`(?:^|[^a-z0-9_])${name.replace(/[^a-z0-9_]/gi, '\\$&')}(?:$|[^a-z0-9_])`).test(text) ||
    [...text.matchAll(/([a-z0-9_]*)…/g)].some(([, before = '']) => name.startsWith(before));
  const isAt = (...levels: ('catalog' | 'schema' | 'table')[]): boolean =>
    levels.every((level) => {
      const name: unknown = Reflect.get(question, level);
      return typeof name !== 'string' || word(name, level);
    });
  const isSystem = 'catalog' in question && question.catalog === 'system' && text.startsWith('write to, own and share');
  switch (question.ask) {
    case 'execute-query':
      return text === 'execute queries';
    case 'view-query':
    case 'kill-query': {
      const right = question.ask === 'view-query' ? 'view' : 'kill';
      return text.startsWith(`${right} queries of`) || text === `${right} other people's queries`;
    }
    case 'impersonate':
      return text.startsWith('impersonate');
    case 'system-property':
    case 'catalog-property':
      return text.startsWith('SET SESSION') && (text.endsWith('any property') || word(question.name, 'property'));
    case 'catalog':
      return text.startsWith('enter the catalog') && isAt('catalog');
    case 'create-schema':
    case 'drop-schema':
      return isSystem || (text.startsWith('have OWNERSHIP of the schema') && isAt('catalog', 'schema'));
    case 'function':
    case 'view-with-function':
    case 'procedure': {
      const kind = question.ask === 'procedure' ? 'procedure' : 'function';
      return isSystem || (text.includes(`the ${kind}`) && isAt('catalog', 'schema') && word(question.name, kind));
    }
    case 'select':
    case 'update':
    case 'view-with-select':
    case 'insert':
    case 'delete':
    case 'truncate':
    case 'create-table':
    case 'drop-table':
    case 'drop-view':
    case 'create-view':
      return isSystem || (text.startsWith(PRIVILEGE_TEXT[question.ask] ?? '?') && isAt('catalog', 'schema', 'table'));
    case 'table-procedure':
    case 'filters':
    case 'mask':
    case 'show-schemas':
    case 'show-tables':
    case 'show-columns':
    case 'filter-catalogs':
    case 'filter-schemas':
    case 'filter-tables':
    case 'filter-columns':
    case 'create-catalog':
    case 'read-system':
    case 'write-system':
    case 'become-user':
    case 'become-role':
  }
  return false;
}

const PRIVILEGE_TEXT: Partial<Record<AskedQuestion['ask'], string>> = {
  select: 'SELECT from',
  update: 'UPDATE',
  'view-with-select': 'have GRANT_SELECT on',
  insert: 'INSERT into',
  delete: 'DELETE from',
  truncate: 'DELETE from',
  'create-table': 'have OWNERSHIP of ',
  'drop-table': 'have OWNERSHIP of ',
  'create-view': 'have OWNERSHIP of ',
};
