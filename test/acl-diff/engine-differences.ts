import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { readUsers } from '../../src/commands/users-file.js';
import type { AccessDifference } from '../../src/trino-rules/diff/access-diff.js';
import type { OtherRight } from '../../src/trino-rules/diff/access-diff-form.js';
import { FRESH_PREFIX } from '../../src/trino-rules/document/open-names.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { getOrInsert } from '../../src/kernel/collections.js';
import { type AccessFact, unmarkRepresentative } from '../../src/trino-rules/engine/access-fact.js';
import { conjuncts, withoutParentheses } from '../../src/trino-rules/engine/schema-tables.js';
import { toOneLine } from '../../src/rules-files/check/foreign-rules.js';
import { diffForeign } from '../../src/rules-files/foreign/foreign-diff.js';
import type { TablePrivilege } from '../../src/trino-rules/document/rules-document.js';
import type { Node } from '../../src/trino-rules/model/node.js';
import {
  type AskedQuestion,
  type AskEngine,
  isAboutBuiltin,
  questionsOf,
  wordsOf,
} from '../acl-import/engine-agreement.js';
import type { Answer, RoutineAct } from '../support/rules/engine-question.js';
import { withinBudget } from '../support/rules/within-budget.js';

type Fact = AccessFact | OtherRight;

export interface DiffAgreement {
  /** Differences that either side names. */
  checked: number;
  /** What the engine answers otherwise, and no entry says. */
  missing: Asked[];
  /** Entries that the engine does not confirm. */
  untrue: (Asked & { fact: Fact })[];
}

interface Asked {
  question: AskedQuestion;
  before: unknown;
  after: unknown;
}

/** Of the differences that a comparison says. */
const MAX_CONFIRMED = 5_000;

/**
 * Compares two files, and asks the engine with both: these users on named and unnamed nodes, and whatever the comparison says.
 * Null: a rule that cannot be compared, or patterns that multiply names beyond what a test should take.
 * @param isListed whether they are compared for these users, or for everybody
 * @param mostNames of each level
 */
export async function diffAgreement(
  files: { before: string; after: string; users: string },
  ask: AskEngine,
  { isListed = true, mostNames = 4 } = {},
): Promise<DiffAgreement | null> {
  const users = readUsers(files.users);
  const [before, after] = [await read(files.before), await read(files.after)];
  const diff = withinBudget(() =>
    diffForeign(before.rules, after.rules, isListed ? users : null, new WorkBudget(200_000_000)),
  );
  if (diff === null || diff.kind === 'incomparable') return null;
  const groups = new Map(users.map((user) => [user.name, user.groups]));
  const { gained, lost } = diff.access;
  const claims = [...gained.flatMap(claimed('gained', groups)), ...lost.flatMap(claimed('lost', groups))].flatMap(
    (claim) =>
      claim.users.flatMap((user) => {
        const question = questionAbout(claim.fact, user, groups.get(user) ?? []);
        return question === null ? [] : [{ ...claim, question }];
      }),
  );
  const words = wordsOf(before.text + after.text, mostNames);
  // Names that only patterns tell apart.
  words.schemas.push('b1');
  words.tables.push('x-y');
  const asked = users.flatMap((user) => questionsOf(user, words)).filter((each) => !isAboutBuiltin(each));
  const every = Math.ceil(claims.length / MAX_CONFIRMED);
  const confirmed = claims.filter((_, i) => i % every === 0);
  const questions = [...confirmed.map(({ question }) => asAsked(question)), ...asked];
  const [had, has] = [await ask(before.text, questions), await ask(after.text, questions)];
  const answers = questions.map((question, i) => ({ question, before: had[i] ?? null, after: has[i] ?? null }));
  const isReadable = new Set(
    answers.filter((each) => each.before === true && each.after === true).map(({ question }) => key(question)),
  );
  const differing = answers.slice(confirmed.length).filter(({ question, before, after }) => {
    if (JSON.stringify(before) === JSON.stringify(after)) return false;
    // A restriction of what may not be read, before or after, is none.
    if (question.ask === 'filters') return isReadable.has(key({ ...question, ask: 'select', columns: [] }));
    return question.ask !== 'mask' || isReadable.has(key({ ...question, ask: 'select', columns: [question.name] }));
  });
  const claimsByAsk = new Map<string, AskedQuestion[]>();
  for (const { question } of claims) getOrInsert(claimsByAsk, question.ask, () => []).push(question);
  return {
    checked: confirmed.length + differing.length,
    missing: differing.filter(
      ({ question }) => !claimsByAsk.get(SAME[question.ask] ?? question.ask)?.some((claim) => covers(claim, question)),
    ),
    untrue: confirmed.flatMap(({ fact, direction }, i) => {
      const answer = answers[i];
      return answer === undefined || isConfirmed(fact, direction, answer) ? [] : [{ fact, ...answer }];
    }),
  };
}

async function read(text: string) {
  const reading = await readForeignRulesFile(Buffer.from(text));
  if (reading.kind === 'refused') throw new Error(JSON.stringify(reading.problems));
  return reading;
}

/** As rules are asked: names in place of others, too. */
function asAsked(question: AskedQuestion): AskedQuestion {
  const fields = Object.entries(question).map(([field, value]: [string, unknown]) => [
    field,
    typeof value === 'string' ? unmarkRepresentative(value) : value,
  ]);
  return Object.fromEntries(fields) as AskedQuestion;
}

type Direction = 'gained' | 'lost';

/** For the users who are asked about, and some of the others. */
function claimed(
  direction: Direction,
  asked: ReadonlyMap<string, unknown>,
): (difference: AccessDifference<Fact>) => { fact: Fact; users: string[]; direction: Direction }[] {
  return ({ fact, people, strangers }) => {
    const unasked = people.filter((name) => !asked.has(name));
    return [
      {
        fact,
        users: [...people.filter((name) => asked.has(name)), ...unasked.slice(0, 1), ...strangers.slice(0, 2)],
        direction,
      },
    ];
  };
}

const OF_TABLES = {
  SELECT: 'select',
  UPDATE: 'update',
  GRANT_SELECT: 'view-with-select',
  INSERT: 'insert',
  DELETE: 'delete',
  OWNERSHIP: 'create-table',
} as const satisfies Record<TablePrivilege, AskedQuestion['ask']>;

const OF_FUNCTIONS: Record<string, RoutineAct> = { EXECUTE: 'function', GRANT_EXECUTE: 'view-with-function' };
const OF_PROCEDURES: Record<string, RoutineAct> = { EXECUTE: 'procedure' };

/** Null: the engine has no question about this alone. */
function questionAbout(fact: Fact, user: string, groups: readonly string[]): AskedQuestion | null {
  const who = { user, groups };
  const at = ({ catalog = FRESH_PREFIX, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Node) => ({
    ...who,
    catalog,
    schema,
    table,
  });
  switch (fact.about) {
    case 'queries':
      return fact.right === 'execute'
        ? { ...who, ask: 'execute-query' }
        : { ...who, ask: `${fact.right}-query`, name: fact.owner ?? FRESH_PREFIX };
    case 'impersonation':
      return { ...who, ask: 'impersonate', name: fact.newUser };
    case 'system-information':
      return { ...who, ask: `${fact.right}-system` };
    case 'session-property':
      return fact.catalog === null
        ? { ...who, ask: 'system-property', name: fact.property }
        : { ...who, ask: 'catalog-property', catalog: fact.catalog, name: fact.property };
    case 'authorization':
      return null; // only an owner may ask at all
    case 'table-procedures':
      return null; // the engine asks for SELECT, filters and masks
    case 'catalog-mode':
      return fact.mode === 'all' ? null : { ...at(fact.resource), ask: 'catalog' };
    case 'catalog-ownership':
      return { ...at(fact.resource), ask: 'create-catalog' };
    case 'schema-ownership':
      return { ...at(fact.resource), ask: 'drop-schema' };
    case 'row-filter':
      return { ...at(fact.resource), ask: 'filters' };
    case 'column-mask':
      return { ...at(fact.resource), ask: 'mask', name: fact.column };
    case 'hidden-column':
      return { ...at(fact.resource), ask: 'select', columns: [fact.column] };
    case 'routine': {
      const ask = fact.kind === 'procedure' ? OF_PROCEDURES[fact.privilege] : OF_FUNCTIONS[fact.privilege];
      return ask === undefined ? null : { ...at(fact.resource), ask, name: fact.resource.routine ?? '' };
    }
    case 'privilege': {
      const ask = OF_TABLES[fact.privilege];
      return ask === 'select' || ask === 'update' || ask === 'view-with-select'
        ? { ...at(fact.resource), ask, columns: [] }
        : { ...at(fact.resource), ask };
    }
  }
}

/** Acts that need the same as another. */
const SAME: Partial<Record<AskedQuestion['ask'], AskedQuestion['ask']>> = {
  truncate: 'delete',
  'create-view': 'create-table',
  'drop-table': 'create-table',
  'create-schema': 'drop-schema',
};

/** Whether a difference about this is one about that: at every level the same name, or any that no file names. */
function covers(claim: AskedQuestion, question: AskedQuestion): boolean {
  // Who is in neither file is a stranger of one kind or another.
  const isStranger = claim.user.includes(FRESH_PREFIX);
  if ((!isStranger && claim.user !== question.user) || claim.ask !== (SAME[question.ask] ?? question.ask)) return false;
  const isColumn = 'columns' in claim && 'columns' in question && claim.columns.length > 0;
  if (isColumn && !question.columns.some((name) => claim.columns.includes(name))) return false;
  return ['catalog', 'schema', 'table', 'name'].every((level) => {
    const name: unknown = Reflect.get(claim, level);
    return typeof name !== 'string' || name.includes(FRESH_PREFIX) || name === Reflect.get(question, level);
  });
}

function key(question: AskedQuestion): string {
  const { user, catalog, schema, table, columns, ask }: Record<string, unknown> = { ...question };
  return JSON.stringify([ask, user, catalog, schema, table, columns]);
}

function isConfirmed(fact: Fact, direction: Direction, { before, after }: Pick<Asked, 'before' | 'after'>): boolean {
  const [less, more] = direction === 'gained' ? [before, after] : [after, before];
  if (fact.about === 'row-filter') {
    return filtersOf(less as Answer).includes(withoutIdentity(fact.expression));
  }
  // Who may not SELECT at all is refused on either side.
  if (fact.about === 'hidden-column') return less === false;
  if (fact.about === 'column-mask')
    return typeof less === 'string' && toOneLine(less) === withoutIdentity(fact.expression);
  return less === false && more === true;
}

function withoutIdentity(expression: string): string {
  return expression.replace(/ \(evaluated as \w+\)$/, '');
}

function filtersOf(answer: Answer): string[] {
  return Array.isArray(answer)
    ? answer.flatMap((filter: string) => conjuncts(toOneLine(filter)).map(withoutParentheses))
    : [];
}
