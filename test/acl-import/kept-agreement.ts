import { readListing } from '../../src/commands/catalog-listing.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { readUsers } from '../../src/commands/users-file.js';
import { anyPatterns, AskedUser, type Audiences, ListedUsers } from '../../src/rules-files/foreign/audiences.js';
import { foreignDocument } from '../../src/rules-files/foreign/foreign-document.js';
import type { ListedName } from '../../src/rules-files/import/known-names.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../../src/trino-rules/engine/metadata-visibility.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import type { Answer, Question } from '../support/rules/engine-question.js';
import {
  canonical,
  type AskedQuestion,
  type AskEngine,
  questionsOf,
  type RuleWords,
  wordsOf,
} from './engine-agreement.js';
import { importCase, type keptCases, type PublishedCase } from './published-cases.js';

/** What the users of a file may do by it, and by the rules that are compiled of its import. */
export interface TakenOver {
  asked: number;
  less: AskedQuestion[];
  more: AskedQuestion[];
}

/**
 * Asks our evaluator with both, which answers as the engine does. Left out is what is a setting or comes with any access: session
 * properties, and of the catalog `system` all but `runtime` and routines; and, of who may not execute queries, everything but that.
 */
export async function takenOver(kept: Pick<PublishedCase, 'users' | 'rules' | 'catalog'>): Promise<TakenOver> {
  const [{ snapshot, findings, users }, file] = [
    await importCase(kept),
    await readForeignRulesFile(Buffer.from(kept.rules)),
  ];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const patterns = anyPatterns(new WorkBudget(Infinity));
  const { document } = foreignDocument(file.rules, new ListedUsers(users, patterns), ({ text }) => text);
  const [given, after] = [document, compile(snapshot).document].map((rules) => new Evaluator(rules, patterns));
  if (given === undefined || after === undefined) throw new Error('two documents are compared');
  const names = users.map(({ name }) => name);
  const listing = readListing(kept.catalog).names;
  const words = withListed(wordsFor(file.text, names, FEWER_NAMES), listing);
  const resolvedFor = new Set(
    findings.filter(({ code }) => code === 'import-pattern-resolved').flatMap(({ people }) => people),
  );
  const result: TakenOver = { asked: 0, less: [], more: [] };
  for (const user of users) {
    const reached = new Set<string>();
    const mayExecute = given.mayWithQueries(user.name, 'execute');
    const questions = [...questionsOf(user, words), ...systemInformation(user)].filter(isAboutRules);
    for (const question of questions.filter((each) => isTakenOver(each, mayExecute))) {
      const [before, now] = [given, after].map((evaluator) =>
        byEvaluator(evaluator, new MetadataVisibility(evaluator), question),
      );
      result.asked += 1;
      if (
        isRestriction(question) &&
        !(given.maySelect(user.name, question, []) && after.maySelect(user.name, question, []))
      )
        continue;
      if (before === true && 'catalog' in question && question.ask !== 'catalog') reached.add(question.catalog);
      if (canonical(before ?? null) === canonical(now ?? null)) continue;
      if (isKilling(question) && given.mayWithQueries(user.name, 'kill')) continue;
      if (now === true || isRestriction(question)) result.more.push(question);
      else if (!resolvedFor.has(user.name) || isListed(question, listing)) result.less.push(question);
    }
    // Who enters a catalog and may do nothing in it sees no name of it.
    result.less = result.less.filter((each) => !(each.user === user.name && isEntering(each, reached)));
  }
  return result;
}

export interface KeptAgreement {
  asked: number;
  /** What the engine answers with yes, a filter or a mask. */
  given: number;
  /** Rules with patterns whose names cannot be told. */
  unjudged: string[];
  wrong: { question: AskedQuestion; engine: unknown; asked: unknown; listed: unknown }[];
}

/**
 * Asks the engine and our evaluator about every listed user on every named and unnamed node: the evaluator by the rules as `acl explain`
 * reads them for one user, and as `acl diff` and `acl import` read them for all.
 */
export async function keptAgreement(
  { users: list, rules: text }: ReturnType<typeof keptCases>[number],
  ask: AskEngine,
): Promise<KeptAgreement> {
  const [users, file] = [readUsers(list), await readForeignRulesFile(Buffer.from(text))];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const names = users.map(({ name }) => name);
  const words = wordsFor(file.text, names, MOST_NAMES);
  const patterns = anyPatterns(new WorkBudget(Infinity));
  const reading = (audiences: Audiences) => {
    const { document, unjudged } = foreignDocument(file.rules, audiences, (expression) => expression.text);
    const evaluator = new Evaluator(document, patterns);
    return { unjudged, evaluator, listings: new MetadataVisibility(evaluator) };
  };
  const everybody = reading(new ListedUsers(users, patterns));
  const result: KeptAgreement = {
    asked: 0,
    given: 0,
    unjudged: everybody.unjudged.map(({ rule, message }) => `${rule.place} ${message}`),
    wrong: [],
  };
  for (const user of users) {
    const own = reading(new AskedUser(user.name, user.groups, patterns));
    const questions = [...questionsOf(user, words), ...systemInformation(user)].filter(isAboutRules);
    const answers = await ask(file.text, questions);
    for (const [i, question] of questions.entries()) {
      const engine = answers[i] ?? null;
      const asked = byEvaluator(own.evaluator, own.listings, question);
      const listed = byEvaluator(everybody.evaluator, everybody.listings, question);
      result.asked += 1;
      if (isGiven(engine)) result.given += 1;
      if ([asked, listed].some((answer) => canonical(answer) !== canonical(engine)))
        result.wrong.push({ question, engine, asked, listed });
    }
  }
  return result;
}

const MOST_NAMES = 6;
const FEWER_NAMES = 4;
/** The engine's own nodes, which few files name and all rule. */
const OWN = { schemas: ['runtime', 'jdbc', 'system'], tables: ['queries'], routines: ['query', 'kill_query'] };

function wordsFor(text: string, users: readonly string[], most: number): RuleWords {
  const words = wordsOf(text, most);
  const also = (names: readonly string[], more: readonly string[]): string[] => [...new Set([...names, ...more])];
  return {
    ...words,
    schemas: also(words.schemas, OWN.schemas),
    tables: also(words.tables, OWN.tables),
    routines: also(words.routines, OWN.routines),
    users: also(words.users, users),
  };
}

function withListed(words: RuleWords, listing: readonly ListedName[]): RuleWords {
  if (listing.length === 0) return words;
  const beside = (names: readonly string[], listed: readonly (string | undefined)[]): string[] => [
    ...new Set([...names, ...listed.filter((name) => name !== undefined)]),
  ];
  return {
    ...words,
    catalogs: beside(
      words.catalogs,
      listing.map(({ catalog }) => catalog),
    ),
    schemas: beside(
      words.schemas,
      listing.map(({ schema }) => schema),
    ),
    tables: beside(
      words.tables,
      listing.map(({ table }) => table),
    ),
  };
}

function systemInformation({ name: user, groups }: { name: string; groups: readonly string[] }): AskedQuestion[] {
  return [
    { ask: 'read-system', user, groups },
    { ask: 'write-system', user, groups },
  ];
}

function isAboutRules(question: AskedQuestion): question is Question & { groups: readonly string[] } {
  return !['create-catalog', 'become-user', 'become-role'].includes(question.ask);
}

function isTakenOver(question: Question, mayExecute: boolean): boolean {
  if (question.ask === 'system-property' || question.ask === 'catalog-property') return false;
  if ('catalog' in question && question.catalog === 'system') {
    // Nothing can be written there, whatever the rules say.
    const isRoutine = ['function', 'view-with-function', 'procedure'].includes(question.ask);
    const isReading = question.ask === 'select' && question.schema === 'runtime';
    if (!isRoutine && !isReading) return false;
  }
  return mayExecute || question.ask === 'execute-query';
}

/** By statement, what the right to kill gives by the engine's API. */
function isKilling(question: Question): boolean {
  if (question.ask !== 'procedure') return false;
  const { catalog, schema, name } = question;
  return [catalog, schema, name].join('.') === 'system.runtime.kill_query';
}

/** Whether the engine has what it is about; of the rest, a pattern gives nothing, which is a finding. */
function isListed(question: Question, listing: readonly ListedName[]): boolean {
  const asked: Partial<ListedName> = { ...(question as object) };
  return (['catalog', 'schema', 'table'] as const).every((level, i, levels) => {
    const path = levels.slice(0, i + 1);
    return asked[level] === undefined || listing.some((each) => path.every((name) => each[name] === asked[name]));
  });
}

function isEntering(question: AskedQuestion, reached: ReadonlySet<string>): boolean {
  return question.ask === 'catalog' && !reached.has(question.catalog);
}

function isRestriction(question: Question): question is Extract<Question, { ask: 'mask' | 'filters' }> {
  return question.ask === 'mask' || question.ask === 'filters';
}

function isGiven(answer: Answer | { error: string }): boolean {
  return Array.isArray(answer) ? answer.length > 0 : answer !== null && answer !== false;
}
