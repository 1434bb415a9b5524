import type { explanationForm } from '../grants/domain/explanation-form.js';
import { formatOf, type SectionName } from '../rules-files/check/engine-format.js';
import { explainForeign, type ForeignExplanation } from '../rules-files/foreign/foreign-explanation.js';
import { WorkBudget } from '../trino-rules/document/work-budget.js';
import { describePermission } from '../trino-rules/engine/access-fact.js';
import { nameOfRule } from '../trino-rules/engine/deciding-rule.js';
import { nodeText } from '../trino-rules/model/node.js';
import type { Question } from '../trino-rules/model/question.js';
import { noAccount, type QuestionOptions, type Questions, questionsOf } from './explain-question.js';
import { readForeignRules, type ReadRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, remark, Unusable } from './output.js';
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
  /** The section that decides the question, if the file lacks it. */
  absent_section: SectionName | null;
  /** Why the engine refuses a statement that the rule allows, such as a faulty mask; null: it does not refuse it. */
  refused_for: string | null;
}

type ExplainedAccess = ReturnType<typeof explanationForm>;
type Explanation = FileExplanation | ExplainedAccess;

/**
 * Explains whether a user may do something, by the database and the published rules, or by a rules file. Exit code 0: answered, with yes
 * or no; 2: an invalid question, a file that cannot be read or that the engine refuses, or a rule that cannot be evaluated.
 */
export async function explainAccess(options: Options): Promise<number> {
  const asked = questionsOf(options);
  const problems = 'problems' in asked ? asked.problems : [];
  const { user, rules, users, json } = options;
  if (users !== undefined && rules === undefined) problems.push('--users says who is in which group for --rules');
  if (rules !== undefined && (options.url ?? options.tokenFile) !== undefined)
    problems.push('--rules asks a file, and --url a service');
  if ('problems' in asked || problems.length > 0) throw new Unusable(problems);
  const explain = rules === undefined ? recorded(options) : await fromFile(user, rules, users);
  const answer = await firstAllowed(asked.questions, explain);
  if (json) printJson(answer.explanation);
  else print(explanationLines(user, answer.question, answer.explanation));
  return 0;
}

type Explain = (question: Question) => Explanation | Promise<Explanation>;

async function firstAllowed(
  [question, ...others]: Questions,
  explain: Explain,
): Promise<{ question: Question; explanation: Explanation }> {
  const explanation = await explain(question);
  const [next, ...rest] = others;
  return explanation.allowed || next === undefined ? { question, explanation } : firstAllowed([next, ...rest], explain);
}

function recorded(options: Options): Explain {
  const service = remoteService(options);
  if (service !== null) return () => explainRemotely(service, options);
  const { user } = options;
  return async (question) => {
    // Imported only here, because the service's modules take seconds to load and a rules file needs none of them.
    const { explainFromDatabase } = await import('./from-database.js');
    return explainFromDatabase(user, question);
  };
}

const STEPS = 1_000_000_000;

async function fromFile(name: string, path: string, users: string | undefined): Promise<Explain> {
  const file = await readForeignRules(path);
  const listed = users === undefined ? [] : readListedUsers(users);
  const known = listed.find((user) => user.name === name);
  if (users !== undefined && known === undefined) remark(`${users}: there is no ${name}, who is in no group then`);
  const groups = users === undefined ? null : (known?.groups ?? []);
  return (question) =>
    withinBudget(`${path}: the rules combine more names than can be judged`, () =>
      fileExplanation(path, file, explainForeign(file.rules, { name, groups }, question, new WorkBudget(STEPS))),
    );
}

function fileExplanation(path: string, file: ReadRulesFile, explanation: ForeignExplanation): FileExplanation {
  if (explanation.kind === 'undecided') {
    const { line, column } = file.placeOf(explanation.at);
    const cure = explanation.isForGroups ? ': name the users and their groups with --users FILE' : '';
    throw new Unusable([`${path}:${line}:${column} ${explanation.rule.place}: ${explanation.message}${cure}`]);
  }
  const { allowed, rule, considered, section, isAbsent, refusedFor } = explanation;
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
  const refused = 'refused_for' in explanation ? explanation.refused_for : null;
  const lines: [string, string | null][] = [
    ['rule', ruleLine(explanation)],
    ['refused', refused && `it ${refused}`],
    ['tried before', explanation.considered.map(nameOfRule).join(', ') || '-'],
    ...('published' in explanation ? recordedLines(explanation) : []),
  ];
  return [
    `${user} ${explanation.allowed ? 'may' : 'may not'} ${describePermission(question)}`,
    ...lines.flatMap(([name, text]) => (text === null ? [] : [`  ${name.padEnd(18)}${text}`])),
  ];
}

function recordedLines(explained: ExplainedAccess): [string, string | null][] {
  const { grants, restrictions, published, allowed, smallest_change: change } = explained;
  return [
    ['grants', grants.join(', ') || '-'],
    ['policies', restrictions.map(restrictionText).join('; ') || '-'],
    ['published', published && `version ${published.version} ${publishedText(published, allowed)}`],
    ['to turn it round', change?.steps.map((step) => JSON.stringify(step)).join('; ') ?? '-'],
  ];
}

/** `row filter 3 on sales.eu.orders.email` */
function restrictionText({ policy_id: id, kind, resource }: ExplainedAccess['restrictions'][number]): string {
  const { column, ...node } = resource;
  return `${kind.replace('_', ' ')} ${id} on ${[nodeText(node) || 'everything', column ?? []].flat().join('.')}`;
}

function publishedText(
  { allowed, is_same: isSame }: { allowed: boolean; is_same: boolean },
  isAllowed: boolean,
): string {
  const otherwise = isSame || allowed !== isAllowed ? '' : ', with other filters, masks or hidden columns';
  return `${allowed ? 'allows' : 'denies'} it${otherwise}`;
}

function ruleLine(explanation: Explanation): string {
  const { rule } = explanation;
  if (rule !== null) return `${nameOfRule(rule)}  ${rule.text ?? ''}`;
  if (!('section' in explanation)) return 'none matches';
  const { section, absent_section: absent } = explanation;
  if (absent === null) return `no rule of "${section}" matches`;
  const { whenAbsent } = formatOf(absent);
  const meaning = explanation.allowed ? (whenAbsent?.meaning ?? 'everybody may then') : 'nobody may then';
  return `there is no section "${absent}": ${meaning}`;
}

/** Asks `GET /api/admin/access/explain`, which explains only privileges that grants can give. */
async function explainRemotely(
  service: RemoteService,
  { user, privilege: text, catalog, schema, table, column, routine, as, of }: QuestionOptions,
): Promise<ReturnType<typeof explanationForm>> {
  const privilege = PRIVILEGES.find((one) => one === text.toUpperCase());
  const isOfEngine = privilege !== undefined && PRIVILEGE_TERMS[privilege].family === 'engine';
  const query = {
    principal: await principalNamed(service, user),
    privilege: text.toUpperCase(),
    ...{ catalog, schema, table, column, routine },
    ...(as !== undefined && { as: await principalNamed(service, as) }),
    ...(isOfEngine && (of === undefined ? { engine: 'true' } : { queries: await principalNamed(service, of) })),
  };
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return service.get('/api/admin/access/explain', Object.fromEntries(given));
}

interface UserPage {
  items: { id: number; username: string }[];
  next: string | null;
}

/** `user:12`, or `engine:NAME` if no account has the name, compared without case. */
async function principalNamed(service: RemoteService, name: string, after: string | null = null): Promise<string> {
  const query = { q: name, limit: '200', ...(after !== null && { after }) };
  const { items, next } = await service.get<UserPage>('/api/admin/users', query);
  const account = items.find(({ username }) => foldedName(username) === foldedName(name));
  if (account !== undefined) return `user:${account.id}`;
  if (next !== null) return principalNamed(service, name, next);
  remark(noAccount(name));
  return `engine:${name}`;
}
