import { readListing } from '../../src/commands/catalog-listing.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { anyPatterns, ListedUsers } from '../../src/rules-files/foreign/audiences.js';
import { foreignDocument } from '../../src/rules-files/foreign/foreign-document.js';
import type { ListedName } from '../../src/rules-files/import/known-names.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import type { RulesDocument } from '../../src/trino-rules/document/rules-document.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../../src/trino-rules/engine/metadata-visibility.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import type { Answer, Question } from '../support/rules/engine-question.js';
import { type AskEngine, type AskedQuestion, canonical, isAboutBuiltin } from './engine-agreement.js';
import { everyQuestion, wordsFor } from './kept-agreement.js';
import { importCase, type keptCases } from './published-cases.js';

/** What an answer is about that an import changes. */
export type Kind =
  | 'more: access'
  /** Where nothing is read. */
  | 'enters system'
  /** What no statement does, whatever the rules say. */
  | 'writes in system'
  /** It has none but those that are built in, and `kill_query`. */
  | 'routines of system'
  /** Where nothing else is given. */
  | 'enters a catalog'
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
const WITHOUT_EFFECT: readonly Kind[] = ['enters system', 'writes in system', 'routines of system'];
/** About what is not there today. */
const NOT_THERE: readonly Kind[] = ['enters a catalog', 'names that the listing lacks', 'users that the list lacks'];

export type Wholeness = 'equal' | 'whole' | 'whole today' | 'in part';

/**
 * `equal`: every answer is. `whole`: every answer that a statement depends on; `whole today`: of these, about catalogs, tables and users
 * that the engine has.
 */
export function wholeness(kinds: readonly Kind[]): Wholeness {
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

/** What each file gives otherwise than its import. */
export const DIFFERENCES: Record<string, readonly Kind[]> = {
  'agent-never-as-an-administrator': [
    'enters system',
    'names that the listing lacks',
    'users that the list lacks',
    'writes in system',
  ],
  'agents-read-redacted': ['names that the listing lacks', 'writes in system'],
  'all-but-salaries': ['enters a catalog', 'enters system', 'names that the listing lacks'],
  'banned-before-the-rest': ['enters a catalog', 'enters system', 'names that the listing lacks', 'ownership'],
  'builder-and-two-readers': ['writes in system'],
  'candidates-kill-their-own': ['writes in system'],
  'catalog-crawler-reads-comments': ['enters a catalog', 'enters system', 'part of a schema of system'],
  'catalogs-by-prefix-of-user': [],
  'catalogs-section-only': [],
  'closed-for-the-rest': [],
  'cluster-operators-named-groups': ['writes in system'],
  'config-map-from-helm': ['enters system'],
  'crawler-sees-names': ['enters a catalog', 'enters system', 'part of a schema of system'],
  'customer-and-operator-of-one-warehouse': ['writes in system'],
  'dashboard-as-anybody': ['users that the list lacks'],
  'dashboards-as-their-viewers': ['enters system', 'users that the list lacks'],
  'dashboards-for-countries': ['users that the list lacks', 'writes in system'],
  'developers-own-dev-schemas': ['enters system', 'names that the listing lacks'],
  'documented-filter-and-columns': ['enters system', 'ownership', 'writes in system'],
  'domains-own-their-products': [
    'enters a catalog',
    'enters system',
    'names that the listing lacks',
    'part of a schema of system',
  ],
  'exceptions-first': ['enters a catalog', 'enters system', 'names that the listing lacks'],
  'federated-functions': ['enters a catalog', 'enters system'],
  'functions-owned-by-admins': ['routines of system', 'writes in system'],
  'gateway-asks-for-health': [],
  'groups-for-the-engines-own-tables': ['writes in system'],
  'groups-nobody-is-in': ['enters system'],
  'grown-over-years': ['enters system'],
  'guests-and-sessions': ['routines of system', 'writes in system'],
  'help-desk-kills-queries': ['enters system', 'users that the list lacks'],
  'keycloak-groups-and-pipeline': ['impersonation', 'users that the list lacks', 'writes in system'],
  'kill-by-call-for-all': [],
  'kill-ones-own-by-call': ['writes in system'],
  'lead-kills-own-team': ['enters system', 'users that the list lacks'],
  'listing-of-drivers-for-guests': [],
  'loader-limited-in-session': [
    'enters system',
    'names that the listing lacks',
    'users that the list lacks',
    'writes in system',
  ],
  'maintenance-procedures': ['enters a catalog', 'enters system', 'names that the listing lacks'],
  'masked-customers': ['enters system'],
  'metrics-agent': ['enters system'],
  'minimal-catalog-guard': ['writes in system'],
  'monitoring-reads-system': ['enters a catalog'],
  'no-system-for-guests': ['enters a catalog', 'enters system', 'writes in system'],
  'notebooks-impersonate-students': ['enters system', 'users that the list lacks'],
  'one-administrator': ['writes in system'],
  'one-person-loses-two-columns': ['enters system', 'ownership', 'writes in system'],
  'open-to-all-but-one-catalog': ['writes in system'],
  'operator-before-the-rest': ['routines of system', 'users that the list lacks', 'writes in system'],
  'operator-of-the-cluster-only-kills': ['enters system'],
  'own-queries-by-name': ['enters a catalog'],
  'owners-of-schemas-and-no-more': ['writes in system'],
  'pass-through-queries': ['enters a catalog', 'enters system'],
  'patients-for-none-but-engineers': ['enters system'],
  'personal-data-masked-in-a-catalog': ['enters system', 'names that the listing lacks'],
  'personal-schemas': ['enters system'],
  'platform-team-has-all': ['enters system', 'writes in system'],
  'queries-section-only': ['writes in system'],
  'read-everything': [],
  'region-filters-by-group': ['enters system'],
  'rows-by-a-mapping-table': ['a filter as another user', 'enters a catalog', 'enters system'],
  'rows-by-current-user': ['a filter as another user', 'enters system'],
  'samples-read-only-all-else-open': [],
  'sandbox-per-environment': ['enters system', 'names that the listing lacks', 'routines of system'],
  'sandboxes-of-teams': ['enters system', 'ownership', 'writes in system'],
  'schema-owner-is-no-table-owner': ['enters system'],
  'service-accounts-by-prefix': ['enters system', 'users that the list lacks'],
  'session-properties-by-team': ['enters system'],
  'single-sign-on-principals': ['enters system'],
  'tables-of-two-roles': ['enters system', 'writes in system'],
  'teams-with-scratch': ['enters system', 'part of a schema of system'],
  'tenants-by-name': ['users that the list lacks', 'writes in system'],
  'three-layers-and-a-report-tool': ['enters a catalog', 'enters system', 'writes in system'],
  'two-tenants': ['enters a catalog', 'names that the listing lacks', 'users that the list lacks'],
  'views-for-others': ['enters system', 'names that the listing lacks'],
  'written-by-a-generator': ['enters system'],
};

type Kept = Omit<ReturnType<typeof keptCases>[number], 'name'>;

/**
 * Asks by a file and by its compiled import: each user of the list about every name of the file, of the listing and of the list, names
 * beside them, and `system`. Session properties are a setting, and left out.
 * @param ask the engine; without it our evaluator answers, which answers as the engine does
 */
export async function keptDifferences(kept: Kept, ask?: AskEngine): Promise<KeptDifferences> {
  const [{ snapshot, users }, file] = [await importCase(kept), await readForeignRulesFile(Buffer.from(kept.rules))];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const compiled = compile(snapshot);
  const patterns = anyPatterns(new WorkBudget(Infinity));
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
    const isOpen = [given, next].every(
      (rules) => !isRestriction(question) || rules.maySelect(question.user, question, []),
    );
    // A restriction of what may not be read is none.
    if (isOpen) examples[kindOf(question, after[i] === true, { given, listing, names })] ??= question;
  }
  const kinds = (Object.keys(examples) as Kind[]).sort();
  return { asked: questions.length, kinds, examples };
}

function answersOf(rules: RulesDocument, questions: readonly Question[]): Answer[] {
  const evaluator = new Evaluator(rules, anyPatterns(new WorkBudget(Infinity)));
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
  if ('name' in question) {
    if (isInSystem) return isKilling(question) ? 'routines' : 'routines of system';
    if (!isListed({ catalog: question.catalog }, listing)) return 'names that the listing lacks';
    return question.ask === 'view-with-function' ? 'functions in views for others' : 'routines';
  }
  if (isInSystem) return question.ask === 'select' ? 'part of a schema of system' : 'writes in system';
  if ('catalog' in question && !isListed(question, listing)) return 'names that the listing lacks';
  if (isOwnership(question)) return 'ownership';
  return isFilteredAsAnother(question) ? 'a filter as another user' : 'data';

  function isFilteredAsAnother(asked: Question): boolean {
    return asked.ask === 'select' && /\(SELECT|current_user/.test(given.rowFilter(asked.user, asked) ?? '');
  }
}

function isOwnership({ ask }: Question): boolean {
  return ['create-schema', 'drop-schema', 'create-table', 'drop-table', 'create-view'].includes(ask);
}

function isSetting({ ask }: Question): boolean {
  return ask === 'system-property' || ask === 'catalog-property';
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

function isRestriction(question: Question): question is Extract<Question, { ask: 'mask' | 'filters' }> {
  return question.ask === 'mask' || question.ask === 'filters';
}
