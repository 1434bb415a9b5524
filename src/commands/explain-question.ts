import { nameProblem, resourceNameProblem } from '../kernel/name.js';
import { type NamedNode, type Node, nodeOf } from '../trino-rules/model/node.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type PrivilegeFamily } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';

/** Options of a question about a user. Each option names one thing. */
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
  /** The owner of the queries. */
  of?: string;
}

export const noAccount = (name: string): string => `no account has the name ${name}: answered as for a program`;

/** Questions to ask one after another until the answer is yes. */
export type Questions = readonly [Question, ...Question[]];

const PARTS = ['catalog', 'schema', 'table', 'column', 'routine', 'property', 'as', 'of'] as const;
type Part = (typeof PARTS)[number];

/** Names on the engine; the others are those of resources. */
const NAMES: readonly Part[] = ['property', 'as', 'of'];

interface Kind {
  needs: readonly Part[];
  takes: readonly Part[];
  asks: (node: Node, options: QuestionOptions) => Questions;
}

const OF_FAMILY: Readonly<Record<PrivilegeFamily, Pick<Kind, 'needs' | 'takes'>>> = {
  table: { needs: ['catalog'], takes: ['schema', 'table', 'column'] },
  schema: { needs: ['catalog'], takes: ['schema'] },
  routine: { needs: ['catalog'], takes: ['schema', 'routine'] },
  engine: { needs: [], takes: [] },
  acting: { needs: ['as'], takes: [] },
};

/** The options and the question of each privilege of grants and each other right of rules files. */
const KINDS: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    PRIVILEGES.map((privilege): [string, Kind] => [
      privilege,
      {
        ...OF_FAMILY[PRIVILEGE_TERMS[privilege].family],
        ...(PRIVILEGE_TERMS[privilege].on.includes('queries') && { takes: ['of'] }),
        asks: ({ as: _as, queries: _queries, ...node }, { column, as, of: owner }) => [
          PRIVILEGE_TERMS[privilege].asks({ ...node, ...byName('as', as), ...byName('queries', owner) }, column),
        ],
      },
    ]),
  ),
  ENTER_CATALOG: {
    needs: ['catalog'],
    takes: [],
    asks: (_, { catalog = '' }) => [
      { about: 'catalog-mode', resource: { catalog }, mode: 'all' },
      { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' },
    ],
  },
  SET_SESSION: {
    needs: ['property'],
    takes: ['catalog'],
    asks: (_, { property = '', catalog = null }) => [{ about: 'session-property', property, catalog }],
  },
};

function byName(field: 'as' | 'queries', name: string | undefined): NamedNode {
  return name === undefined ? {} : { [field]: { type: 'engine', name } };
}

export const ASKED_PRIVILEGES = Object.keys(KINDS);

export function questionsOf(options: QuestionOptions): { questions: Questions } | { problems: string[] } {
  const privilege = options.privilege.toUpperCase();
  const kind = KINDS[privilege];
  const given = PARTS.filter((part) => options[part] !== undefined);
  const names = [
    { option: 'user', problem: nameProblem(options.user) },
    ...given.map((option) => ({
      option,
      problem: (NAMES.includes(option) ? nameProblem : resourceNameProblem)(options[option] ?? ''),
    })),
  ];
  const problems = names.flatMap(({ option, problem }) => (problem === null ? [] : [`--${option} ${problem}`]));
  if (options.as === options.user) problems.push('--as must name another user: the engine does not ask about oneself');
  if (options.of === options.user) problems.push("--of must name another user: one's own queries are always open");
  for (const part of ['table', 'routine'] as const)
    if (options[part] !== undefined && options.schema === undefined) problems.push(`--${part} needs a --schema`);
  if (kind === undefined) problems.push(`--privilege must be one of ${ASKED_PRIVILEGES.join(', ')}`);
  else {
    const named = [...kind.needs, ...kind.takes];
    problems.push(
      ...kind.needs.filter((part) => !given.includes(part)).map((part) => `${privilege} needs --${part}`),
      ...given.filter((part) => !named.includes(part)).map((part) => `${privilege} has no --${part}`),
    );
  }
  if (kind === undefined || problems.length > 0) return { problems };
  const { catalog, schema, table, routine } = options;
  return { questions: kind.asks(nodeOf({ catalog, schema, table, routine }), options) };
}
