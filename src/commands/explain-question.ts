import { nameProblem, resourceNameProblem } from '../kernel/name.js';
import { type NamedNode, type Node, nodeOf } from '../trino-rules/model/node.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type PrivilegeFamily } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';

/** Options of a question about a user. */
export interface QuestionOptions {
  user: string;
  privilege: string;
  catalog?: string;
  schema?: string;
  table?: string;
  column?: string;
  routine?: string;
  property?: string;
  /** The user to impersonate. */
  as?: string;
  /** The owner of the queries to see or end. */
  of?: string;
}

export const noAccountRemark = (name: string): string => `no account has the name ${name}: answered as for a program`;

/** Questions to ask one after another until the answer is yes. */
export type Questions = readonly [Question, ...Question[]];

const NAME_OPTIONS = ['catalog', 'schema', 'table', 'column', 'routine', 'property', 'as', 'of'] as const;
type NameOption = (typeof NAME_OPTIONS)[number];

/** The options that take names of the engine's users or properties. The others take names of resources. */
const ENGINE_NAME_OPTIONS: readonly NameOption[] = ['property', 'as', 'of'];

interface QuestionKind {
  requiredOptions: readonly NameOption[];
  optionalOptions: readonly NameOption[];
  questionsFor: (node: Node, options: QuestionOptions) => Questions;
}

const FIELDS_BY_FAMILY: Readonly<Record<PrivilegeFamily, Omit<QuestionKind, 'questionsFor'>>> = {
  table: { requiredOptions: [], optionalOptions: ['catalog', 'schema', 'table', 'column'] },
  schema: { requiredOptions: [], optionalOptions: ['catalog', 'schema'] },
  routine: { requiredOptions: [], optionalOptions: ['catalog', 'schema', 'routine'] },
  engine: { requiredOptions: [], optionalOptions: [] },
  acting: { requiredOptions: ['as'], optionalOptions: [] },
};

const QUESTION_KINDS: Readonly<Record<string, QuestionKind>> = {
  ...Object.fromEntries(
    PRIVILEGES.map((privilege): [string, QuestionKind] => [
      privilege,
      {
        ...FIELDS_BY_FAMILY[PRIVILEGE_TERMS[privilege].family],
        ...(PRIVILEGE_TERMS[privilege].nodeKinds.includes('queries') && { optionalOptions: ['of'] }),
        questionsFor: ({ as: _as, queries: _queries, ...node }, { column, as, of: owner }) => [
          PRIVILEGE_TERMS[privilege].questionAt(
            { ...node, ...engineNode('as', as), ...engineNode('queries', owner) },
            column,
          ),
        ],
      },
    ]),
  ),
  ENTER_CATALOG: {
    requiredOptions: ['catalog'],
    optionalOptions: [],
    questionsFor: (_, { catalog = '' }) => [
      { about: 'catalog-mode', resource: { catalog }, mode: 'all' },
      { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' },
    ],
  },
  SET_SESSION: {
    requiredOptions: ['property'],
    optionalOptions: ['catalog'],
    questionsFor: (_, { property = '', catalog = null }) => [{ about: 'session-property', property, catalog }],
  },
};

function engineNode(field: 'as' | 'queries', name: string | undefined): NamedNode {
  return name === undefined ? {} : { [field]: { type: 'engine', name } };
}

export const EXPLAINED_PRIVILEGES = Object.keys(QUESTION_KINDS);

export function questionsOf(options: QuestionOptions): { questions: Questions } | { problems: string[] } {
  const privilege = options.privilege.toUpperCase();
  const kind = QUESTION_KINDS[privilege];
  const givenOptions = NAME_OPTIONS.filter((option) => options[option] !== undefined);
  const nameChecks = [
    { option: 'user', problem: nameProblem(options.user) },
    ...givenOptions.map((option) => ({
      option,
      problem: (ENGINE_NAME_OPTIONS.includes(option) ? nameProblem : resourceNameProblem)(options[option] ?? ''),
    })),
  ];
  const problems = nameChecks.flatMap(({ option, problem }) => (problem === null ? [] : [`--${option} ${problem}`]));
  if (options.as === options.user) problems.push('--as must name another user: the engine does not ask about oneself');
  if (options.of === options.user) problems.push("--of must name another user: one's own queries are always open");
  for (const option of ['table', 'routine'] as const)
    if (options[option] !== undefined && options.schema === undefined) problems.push(`--${option} needs a --schema`);
  if (options.schema !== undefined && options.catalog === undefined) problems.push('--schema needs a --catalog');
  if (kind === undefined) problems.push(`--privilege must be one of ${EXPLAINED_PRIVILEGES.join(', ')}`);
  else {
    const { requiredOptions, optionalOptions } = kind;
    const missingOptions = requiredOptions.filter((option) => !givenOptions.includes(option));
    const unusedOptions = givenOptions.filter((option) => ![...requiredOptions, ...optionalOptions].includes(option));
    problems.push(...missingOptions.map((option) => `${privilege} needs --${option}`));
    problems.push(...unusedOptions.map((option) => `${privilege} has no --${option}`));
  }
  if (kind === undefined || problems.length > 0) return { problems };
  const { catalog, schema, table, routine } = options;
  return { questions: kind.questionsFor(nodeOf({ catalog, schema, table, routine }), options) };
}
