import type { explanationForm } from '../grants/domain/explanation-form.js';
import { nameProblem, resourceNameProblem } from '../kernel/name.js';
import { traceRules } from '../trino-rules/answers/rule-trace.js';
import { pathOf } from '../trino-rules/engine/access-fact.js';
import { nameOfRule, textOfRule } from '../trino-rules/engine/deciding-rule.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import { nodeOf, type Node } from '../trino-rules/model/node.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';
import { print, remark } from './output.js';
import { readRulesFile } from './rules-file.js';

/** A privilege at a node, or at a column in its tables. */
interface Asked {
  resource: Node;
  column?: string | undefined;
  privilege: Privilege;
}

interface Options {
  user: string;
  catalog: string;
  schema?: string;
  table?: string;
  column?: string;
  privilege: string;
  rules?: string;
  json?: true;
}

type Explanation = Omit<ReturnType<typeof explanationForm>, 'published' | 'smallest_change'> &
  Partial<Pick<ReturnType<typeof explanationForm>, 'published' | 'smallest_change'>>;

/**
 * Explains an answer out of the database and the published rules, or of one rules file alone. Exit code 0: there is an answer, whatever
 * it is; 2: a wrong question, or a file that cannot be read.
 */
export async function explainAccess(options: Options): Promise<number> {
  const asked = askedBy(options);
  if (asked === null) return 2;
  const { user, rules, json } = options;
  const question = PRIVILEGE_TERMS[asked.privilege].asks(asked.resource, asked.column);
  const explanation = rules === undefined ? await fromDatabase(user, question) : fromFile(user, question, rules);
  if (explanation === null) return 2;
  print(json ? JSON.stringify(explanation) : explanationText(user, asked, explanation));
  return 0;
}

/** Loads the service's modules, which takes seconds: a file needs none of them. */
async function fromDatabase(user: string, question: Question): Promise<Explanation> {
  const { explainFromDatabase } = await import('./explain-from-database.js');
  return explainFromDatabase(user, question);
}

function fromFile(user: string, question: Question, file: string): Explanation | null {
  const rules = readRulesFile(file);
  if (rules === null) return null;
  const { allowed, rule, considered } = traceRules(new Evaluator(rules.document), user, question);
  const text = rule && textOfRule(rules.document, rule);
  return { allowed, rule: rule && { ...rule, text }, considered, grants: [], policies: [] };
}

/** Null: the options do not make a question, and every problem has been printed. */
function askedBy({ user, catalog, schema, table, column, privilege }: Options): Asked | null {
  const asked = PRIVILEGES.find((one) => one === privilege.toUpperCase());
  const names = { catalog, schema, table, column };
  const problems = [
    ...[nameProblem(user)].flatMap((problem) => (problem === null ? [] : [`--user ${problem}`])),
    ...Object.entries(names).flatMap(([level, name]) => {
      const problem = name === undefined ? null : resourceNameProblem(name);
      return problem === null ? [] : [`--${level} ${problem}`];
    }),
    ...(table !== undefined && schema === undefined ? ['--table needs a --schema'] : []),
    ...(asked === undefined ? [`--privilege must be one of ${PRIVILEGES.join(', ')}`] : []),
  ];
  for (const problem of problems) remark(problem);
  if (asked === undefined || problems.length > 0) return null;
  return { resource: nodeOf({ catalog, schema, table }), column, privilege: asked };
}

function explanationText(user: string, { resource, column, privilege }: Asked, explanation: Explanation): string {
  const { allowed, rule, considered, grants, policies, published, smallest_change: change } = explanation;
  const node = column === undefined ? pathOf(resource) : `column ${column} of ${pathOf(resource)}`;
  const list = (ids: readonly number[]): string => (ids.length === 0 ? '-' : ids.join(', '));
  return [
    `${user} ${allowed ? 'may' : 'may not'} ${privilege} ${node}`,
    `  rule              ${rule ? `${nameOfRule(rule)}  ${rule.text ?? ''}` : 'none matches'}`,
    `  tried before      ${considered.length === 0 ? '-' : considered.map(nameOfRule).join(', ')}`,
    ...(published === undefined
      ? []
      : [`  grants            ${list(grants)}`, `  policies          ${list(policies)}`]),
    ...(published
      ? [`  published         version ${published.version} ${published.allowed ? 'allows' : 'denies'} it`]
      : []),
    ...(change === undefined
      ? []
      : [`  to turn it round  ${change?.steps.map((step) => JSON.stringify(step)).join('; ') ?? '-'}`]),
  ].join('\n');
}
