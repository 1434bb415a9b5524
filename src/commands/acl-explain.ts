import type { explanationForm } from '../grants/domain/explanation-form.js';
import { formatOf, type SectionName } from '../rules-files/check/engine-format.js';
import { explainForeign, type ForeignExplanation } from '../rules-files/foreign/foreign-explanation.js';
import { WorkBudget } from '../trino-rules/document/work-budget.js';
import { describePermission } from '../trino-rules/engine/access-fact.js';
import { nameOfRule } from '../trino-rules/engine/deciding-rule.js';
import { nodeText } from '../trino-rules/model/node.js';
import type { Question } from '../trino-rules/model/question.js';
import { noAccountRemark, type QuestionOptions, type Questions, questionsOf } from './explain-question.js';
import { readForeignRules, type ParsedRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, printRemark, UnusableInput } from './output.js';
import type { RemoteOptions } from '../platform/settings/settings-loader.js';
import { remoteService, type RemoteService } from './remote-service.js';
import { readListedUsers } from './users-file.js';
import { foldedName } from '../kernel/name.js';
import { PRIVILEGE_TERMS, PRIVILEGES } from '../trino-rules/model/privilege.js';

interface Options extends QuestionOptions, RemoteOptions {
  rules?: string;
  users?: string;
  json?: true;
}

interface FileExplanation {
  allowed: boolean;
  rule: { section: SectionName; index: number; text: string; line: number; column: number } | null;
  considered: { section: SectionName; index: number }[];
  grants: [];
  policies: [];
  section: SectionName;
  /** The section by which the engine decides the question, if the file lacks that section; null: the file has it. */
  absent_section: SectionName | null;
  /** Why the engine refuses a statement that the rule allows, such as a faulty mask; null: no such reason is known. */
  refused_for: string | null;
}

type ExplainedAccess = ReturnType<typeof explanationForm>;
type Explanation = FileExplanation | ExplainedAccess;

/**
 * Explains whether a user may do something, by the database and the published rules, or by a rules file. Exit code 0: answered, with yes
 * or no; 2: an invalid question, a file that cannot be read or that the engine refuses, or a rule that cannot be evaluated.
 */
export async function explainAccess(options: Options): Promise<number> {
  const questionReading = questionsOf(options);
  const problems = 'problems' in questionReading ? questionReading.problems : [];
  const { user, rules, users, json } = options;
  if (users !== undefined && rules === undefined) problems.push('--users says who is in which group for --rules');
  if (rules !== undefined && (options.url ?? options.tokenFile) !== undefined)
    problems.push('--rules asks a file, and --url a service');
  if ('problems' in questionReading || problems.length > 0) throw new UnusableInput(problems);
  const explain = rules === undefined ? explainRecorded(options) : await explainFromFile(user, rules, users);
  const answer = await explainUntilAllowed(questionReading.questions, explain);
  if (json) printJson(answer.explanation);
  else print(explanationLines(user, answer.question, answer.explanation));
  return 0;
}

type ExplainQuestion = (question: Question) => Explanation | Promise<Explanation>;

async function explainUntilAllowed(
  [question, ...otherQuestions]: Questions,
  explain: ExplainQuestion,
): Promise<{ question: Question; explanation: Explanation }> {
  const explanation = await explain(question);
  const [next, ...others] = otherQuestions;
  const isFinalAnswer = explanation.allowed || next === undefined;
  return isFinalAnswer ? { question, explanation } : explainUntilAllowed([next, ...others], explain);
}

function explainRecorded(options: Options): ExplainQuestion {
  const service = remoteService(options);
  if (service !== null) return () => explainRemotely(service, options);
  const { user } = options;
  return async (question) => {
    // Imported only here, because the service's modules take seconds to load and a rules file needs none of them.
    const { explainFromDatabase } = await import('./from-database.js');
    return explainFromDatabase(user, question);
  };
}

const MAX_STEPS = 1_000_000_000;

async function explainFromFile(name: string, path: string, users: string | undefined): Promise<ExplainQuestion> {
  const file = await readForeignRules(path);
  const listedUsers = users === undefined ? [] : readListedUsers(users);
  const userLine = listedUsers.find((user) => user.name === name);
  if (users !== undefined && userLine === undefined)
    printRemark(`${users}: there is no ${name}, who is in no group then`);
  const groups = users === undefined ? null : (userLine?.groups ?? []);
  return (question) =>
    withinBudget(`${path}: the rules combine more names than can be judged`, () =>
      fileExplanation(path, file, explainForeign(file.rules, { name, groups }, question, new WorkBudget(MAX_STEPS))),
    );
}

function fileExplanation(path: string, file: ParsedRulesFile, explanation: ForeignExplanation): FileExplanation {
  if (explanation.kind === 'undecided') {
    const advice = explanation.isForGroups ? ': name the users and their groups with --users FILE' : '';
    const placeText = file.placeText(path, explanation.at);
    throw new UnusableInput([`${placeText} ${explanation.rule.place}: ${explanation.message}${advice}`]);
  }
  const { allowed, rule, consideredRules: considered, section, isAbsent, refusalReason: refusedFor } = explanation;
  return {
    allowed,
    rule: rule && { section: rule.section, index: rule.index, text: rule.text, ...file.placeOf(rule.at) },
    considered: considered.map(({ section, index }) => ({ section, index })),
    grants: [],
    policies: [],
    section,
    absent_section: isAbsent ? section : null,
    refused_for: refusedFor,
  };
}

function explanationLines(user: string, question: Question, explanation: Explanation): string[] {
  const refusalText = 'refused_for' in explanation ? explanation.refused_for : null;
  const lines: [string, string | null][] = [
    ['rule', ruleLine(explanation)],
    ['refused', refusalText && `it ${refusalText}`],
    ['tried before', explanation.considered.map(nameOfRule).join(', ') || '-'],
    ...('published' in explanation ? recordedAccessLines(explanation) : []),
  ];
  return [
    `${user} ${explanation.allowed ? 'may' : 'may not'} ${describePermission(question)}`,
    ...lines.flatMap(([name, text]) => (text === null ? [] : [`  ${name.padEnd(18)}${text}`])),
  ];
}

function recordedAccessLines(explanation: ExplainedAccess): [string, string | null][] {
  const { grants, restrictions, published, allowed, smallest_change: smallestChange } = explanation;
  return [
    ['grants', grants.join(', ') || '-'],
    ['policies', restrictions.map(restrictionText).join('; ') || '-'],
    ['published', published && `version ${published.version} ${publishedText(published, allowed)}`],
    ['to turn it round', smallestChange?.steps.map((step) => JSON.stringify(step)).join('; ') ?? '-'],
  ];
}

function restrictionText({ policy_id: id, kind, resource }: ExplainedAccess['restrictions'][number]): string {
  const { column, ...node } = resource;
  return `${kind.replace('_', ' ')} ${id} on ${[nodeText(node) || 'everything', column ?? []].flat().join('.')}`;
}

function publishedText(
  { allowed, is_same: isSame }: { allowed: boolean; is_same: boolean },
  isAllowed: boolean,
): string {
  const differenceText = isSame || allowed !== isAllowed ? '' : ', with other filters, masks or hidden columns';
  return `${allowed ? 'allows' : 'denies'} it${differenceText}`;
}

function ruleLine(explanation: Explanation): string {
  const { rule } = explanation;
  if (rule !== null) return `${nameOfRule(rule)}  ${rule.text ?? ''}`;
  if (!('section' in explanation)) return 'none matches';
  const { section, absent_section: absentSection } = explanation;
  if (absentSection === null) return `no rule of "${section}" matches`;
  const { whenAbsent } = formatOf(absentSection);
  const meaning = explanation.allowed ? (whenAbsent?.meaning ?? 'everybody may then') : 'nobody may then';
  return `there is no section "${absentSection}": ${meaning}`;
}

/** Asks `GET /api/admin/access/explain`, which explains only privileges that grants can give. */
async function explainRemotely(
  service: RemoteService,
  { user, privilege: text, catalog, schema, table, column, routine, as, of }: QuestionOptions,
): Promise<ReturnType<typeof explanationForm>> {
  const privilege = PRIVILEGES.find((each) => each === text.toUpperCase());
  const isEnginePrivilege = privilege !== undefined && PRIVILEGE_TERMS[privilege].family === 'engine';
  const query = {
    principal: await principalNamed(service, user),
    privilege: text.toUpperCase(),
    ...{ catalog, schema, table, column, routine },
    ...(as !== undefined && { as: await principalNamed(service, as) }),
    ...(isEnginePrivilege && (of === undefined ? { engine: 'true' } : { queries: await principalNamed(service, of) })),
  };
  const givenParameters = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return service.get('/api/admin/access/explain', Object.fromEntries(givenParameters));
}

interface UserPage {
  items: { id: number; username: string }[];
  next: string | null;
}

/** The principal with a name, compared without case: `user:12`, or `engine:NAME` if no account has the name. */
async function principalNamed(service: RemoteService, name: string, after: string | null = null): Promise<string> {
  const query = { q: name, limit: '200', ...(after !== null && { after }) };
  const { items, next } = await service.get<UserPage>('/api/admin/users', query);
  const account = items.find(({ username }) => foldedName(username) === foldedName(name));
  if (account !== undefined) return `user:${account.id}`;
  if (next !== null) return principalNamed(service, name, next);
  printRemark(noAccountRemark(name));
  return `engine:${name}`;
}
