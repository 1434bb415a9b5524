import { readListing } from '../../src/commands/acl-import.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { newPatternCache, ListedUsers } from '../../src/rules-files/foreign/audiences.js';
import { foreignDocument } from '../../src/rules-files/foreign/foreign-document.js';
import type { ListedName } from '../../src/rules-files/import/named-nodes.js';
import { tablesOfSystem } from '../../src/rules-files/import/system-tables.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import type { RulesDocument } from '../../src/trino-rules/document/rules-document.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../support/rules/metadata-visibility.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import { rowFilterOf } from '../support/rules/table-limits.js';
import type { Answer, Question } from '../support/rules/engine-question.js';
import { type AskEngine, type AskedQuestion, canonical, isAboutBuiltin } from './engine-agreement.js';
import { everyQuestion, isRestriction, isSetting, wordsFor } from './kept-agreement.js';
import { importCase, type KeptCase } from './published-cases.js';

/** What an answer is about that an import changes. */
export type Kind =
  | 'more: access'
  /** Where nothing is read. */
  | 'enters system'
  /** What no statement does, whatever the rules say. */
  | 'writes in system'
  /** What the engine does not restrict: TRUNCATE beside a filter, and what it refuses. */
  | 'writes beside a restriction'
  /** It has none but those that are built in, and `kill_query`. */
  | 'routines of system'
  /** Where nothing else is given. */
  | 'enters a catalog'
  /** What statements use, for who may execute none. */
  | 'executes no queries'
  | 'names that the listing lacks'
  | 'users that the list lacks'
  | 'queries of some'
  | 'impersonation'
  | 'part of a schema of system'
  | 'functions in views for others'
  | 'a filter as another user'
  /** Of a schema or a table that something restricts. */
  | 'ownership'
  | 'data'
  | 'routines';

/** Answers on which nothing depends that somebody does or sees. */
const WITHOUT_EFFECT: readonly string[] = [
  'enters system',
  'writes in system',
  'routines of system',
  'writes beside a restriction',
];
/** About what is not there today. */
const NOT_THERE: readonly string[] = ['enters a catalog', 'names that the listing lacks', 'users that the list lacks'];

export type Wholeness = 'equal' | 'whole' | 'whole today' | 'in part';

/**
 * `equal`: every answer is. `whole`: every answer that a statement depends on; `whole today`: of these, about catalogs, tables and users
 * that the engine has.
 */
export function wholeness(kinds: readonly string[]): Wholeness {
  if (kinds.length === 0) return 'equal';
  if (kinds.every((kind) => WITHOUT_EFFECT.includes(kind))) return 'whole';
  return kinds.every((kind) => WITHOUT_EFFECT.includes(kind) || NOT_THERE.includes(kind)) ? 'whole today' : 'in part';
}

export interface KeptDifferences {
  asked: number;
  kinds: Kind[];
  /** The first of each kind. */
  examples: Partial<Record<Kind, AskedQuestion>>;
}

type Kept = Pick<KeptCase, 'users' | 'rules' | 'catalog'>;

/**
 * Asks by a file and by its compiled import: each user of the list about every name of the file, of the listing and of the list, names
 * beside them, and `system`. Session properties are a setting, and left out.
 * @param ask the engine; without it our evaluator answers, which answers as the engine does
 */
export async function keptDifferences(kept: Kept, ask?: AskEngine): Promise<KeptDifferences> {
  const [{ snapshot, users }, file] = [await importCase(kept), await readForeignRulesFile(Buffer.from(kept.rules))];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const compiled = compile(snapshot);
  const patterns = newPatternCache(new WorkBudget(Infinity));
  const { document } = foreignDocument(file.rules, new ListedUsers(users, patterns), ({ text }) => text);
  const listing = readListing(kept.catalog).names;
  const names = users.map(({ name }) => name);
  const words = wordsFor(file.text, names, Infinity, listing);
  const questions = users
    .flatMap((user) => everyQuestion(user, words))
    .filter((each) => !isSetting(each) && !isAboutBuiltin(each));
  const answers = (text: string, rules: RulesDocument) =>
    ask === undefined ? answersOf(rules, questions) : ask(text, questions);
  const before = await answers(file.text, document);
  const after = await answers(compiled.text, compiled.document);
  const given = new Evaluator(document, patterns);
  const next = new Evaluator(compiled.document, patterns);
  const examples: KeptDifferences['examples'] = {};
  for (const [i, question] of questions.entries()) {
    if (canonical(before[i] ?? null) === canonical(after[i] ?? null)) continue;
    // Every row passes the filter of those who only read.
    if (question.ask === 'filters' && canonical(after[i] ?? null) === canonical(['true'])) continue;
    const isOpen = [given, next].every(
      (rules) => !isRestriction(question) || rules.hasTablePrivilege(question.user, 'SELECT', question),
    );
    // A restriction of what may not be read is none.
    if (isOpen) examples[kindOf(question, after[i] === true, { given, listing, names })] ??= question;
  }
  const kinds = (Object.keys(examples) as Kind[]).sort();
  return { asked: questions.length, kinds, examples };
}

function answersOf(rules: RulesDocument, questions: readonly Question[]): Answer[] {
  const evaluator = new Evaluator(rules, newPatternCache(new WorkBudget(Infinity)));
  const listings = new MetadataVisibility(evaluator);
  return questions.map((question) => byEvaluator(evaluator, listings, question));
}

interface Known {
  given: Evaluator;
  listing: readonly ListedName[];
  names: readonly string[];
}

function kindOf(question: Question, isMore: boolean, { given, listing, names }: Known): Kind {
  const isInSystem = 'catalog' in question && question.catalog === 'system';
  if (isMore || isRestriction(question)) return 'more: access';
  if ('name' in question && !('catalog' in question)) {
    if (!names.includes(question.name)) return 'users that the list lacks';
    return question.ask === 'impersonate' ? 'impersonation' : 'queries of some';
  }
  if (question.ask === 'catalog') return isInSystem ? 'enters system' : 'enters a catalog';
  if ('catalog' in question && !given.hasQueryRight(question.user, 'execute')) return 'executes no queries';
  if ('name' in question) {
    if (isInSystem) return isKilling(question) ? 'routines' : 'routines of system';
    if (!isListed({ catalog: question.catalog }, listing)) return 'names that the listing lacks';
    return question.ask === 'view-with-function' ? 'functions in views for others' : 'routines';
  }
  if (isInSystem && question.ask === 'select')
    return tablesOfSystem(question.schema).includes(question.table)
      ? 'part of a schema of system'
      : 'names that the listing lacks';
  if (isInSystem) return 'writes in system';
  if ('catalog' in question && !isListed(question, listing)) return 'names that the listing lacks';
  if (writesBesideRestriction(question, given)) return 'writes beside a restriction';
  if (isOwnership(question)) return 'ownership';
  return isFilteredAsAnother(question) ? 'a filter as another user' : 'data';

  function isFilteredAsAnother(asked: Question): boolean {
    return asked.ask === 'select' && /\(SELECT|current_user/.test(rowFilterOf(given, asked.user, asked) ?? '');
  }
}

function writesBesideRestriction(question: Question, given: Evaluator): boolean {
  if (!['insert', 'update', 'delete', 'truncate'].includes(question.ask) || !('table' in question)) return false;
  const { rules } = given;
  const rule = rules.tables[given.tableRuleIndex(question.user, question) ?? -1];
  return rule?.filter !== undefined || rule?.columns?.some(({ mask }) => mask !== undefined) === true;
}

function isOwnership({ ask }: Question): boolean {
  return ['create-schema', 'drop-schema', 'create-table', 'drop-table', 'create-view'].includes(ask);
}

function isKilling(question: Question): boolean {
  if (question.ask !== 'procedure') return false;
  const { catalog, schema, name } = question;
  return [catalog, schema, name].join('.') === 'system.runtime.kill_query';
}

/** Whether the engine has what it is about; without a listing, it may have any. */
function isListed(asked: Partial<ListedName>, listing: readonly ListedName[]): boolean {
  return (['catalog', 'schema', 'table'] as const).every((level, i, levels) => {
    const path = levels.slice(0, i + 1);
    const isKnown = listing.some((each) => path.every((name) => each[name] === asked[name]));
    return asked[level] === undefined || listing.length === 0 || isKnown;
  });
}
