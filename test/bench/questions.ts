import { intentSets } from '../../src/trino-rules/compile/intent-sets.js';
import type { NodeAccess } from '../../src/trino-rules/compile/node-access.js';
import { FRESH_PREFIX as FRESH } from '../../src/trino-rules/document/open-names.js';
import type { EngineSets } from '../../src/trino-rules/engine/engine-sets.js';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { Chance } from '../support/snapshots/chance.js';
import type { Question } from '../support/rules/engine-question.js';

interface TableName {
  catalog: string;
  schema: string;
  table: string;
}

/** What the engine is asked; the proof's questions are a sample of `count`. */
export interface Questions {
  everyday: Question[];
  proof: Question[];
  count: number;
}

const STATEMENTS = 60;
const OWN_ACCESS = 0.8;
const WRITES = 0.2;

/**
 * The checks of everyday work on the engine: statements on tables that grants are about, mostly by people who were
 * granted something there. For each: may it run, the catalog, the columns, the filters, two masks, and at times a write.
 */
export function everydayQuestions(snapshot: Snapshot): Question[] {
  const chance = new Chance(7);
  const one = <T>(items: readonly T[]) => items[chance.below(items.length)];
  const members = new Map(snapshot.groups.map((group) => [group.id, group.members]));
  const names = new Map(snapshot.users.map(({ id, name }) => [id, name]));
  const someMember = (principal: PolicyPrincipal) => {
    if (principal.type === 'everyone') return one(snapshot.users)?.name;
    if (principal.type === 'engine') return principal.name;
    return names.get((principal.type === 'user' ? principal.id : one(members.get(principal.id) ?? [])) ?? 0);
  };
  const tables = snapshot.grants.filter(({ resource }) => resource.table !== undefined);
  return Array.from({ length: STATEMENTS }, () => one(tables)).flatMap((grant): Question[] => {
    const anyUser = one(snapshot.users)?.name ?? FRESH;
    const user = (grant && chance.next() < OWN_ACCESS ? someMember(grant.principal) : undefined) ?? anyUser;
    const { catalog = FRESH, schema = FRESH, table = FRESH } = grant?.resource ?? {};
    const node = { user, catalog, schema, table };
    return [
      { ask: 'execute-query', user },
      { ask: 'catalog', user, catalog },
      { ask: 'select', ...node, columns: ['id', 'email'] },
      { ask: 'filters', ...node },
      { ask: 'mask', ...node, name: 'id' },
      { ask: 'mask', ...node, name: 'email' },
      ...(chance.next() < WRITES ? [{ ask: 'insert', ...node } as const] : []),
    ];
  });
}

const SAMPLE = 300;

/**
 * The questions that the proof answers, as checks of the engine: every user × every named table, every
 * combination of names that the rules spell out, and a fresh one at each level × six privileges, the filters, and whether
 * each column that a policy names there is seen and masked; besides that schemas and catalogs. Rights that belong to no table
 * are left out of the count, which makes it smaller.
 */
export function proofQuestions(engine: EngineSets, snapshot: Snapshot): Omit<Questions, 'everyday'> {
  const intent = intentSets(snapshot);
  const tableNames: (TableName & { columns: string[] })[] = [];
  let others = 0;
  const below = (path: string[], named: Iterable<string>) =>
    new Set([...engine.tables.branch(path).names(), ...named, FRESH]);
  const nodes = [...intent.root.children()];
  for (const catalog of below(
    [],
    nodes.map(({ name }) => name),
  )) {
    const node = nodes.find(({ name }) => name === catalog);
    const schemas = [...(node?.children() ?? [])];
    others += MODES;
    for (const schema of below(
      [catalog],
      schemas.map(({ name }) => name),
    )) {
      const known = schemas.find(({ name }) => name === schema);
      const tables = new Map([...(known?.children() ?? [])].map(({ name, access }) => [name, access]));
      others += OWNERSHIP;
      for (const table of below([catalog, schema], tables.keys())) {
        const named = [node?.access, known?.access, tables.get(table)].flatMap((access) => access ?? []);
        tableNames.push({ catalog, schema, table, columns: columnsOf(named) });
      }
    }
  }
  const each = tableNames.reduce((sum, { columns }) => sum + asked(columns).length, others);
  const people = engine.universe.names();
  const chance = new Chance(11);
  const proof = Array.from({ length: SAMPLE }, (): Question[] => {
    const { columns, ...node } = tableNames[chance.below(tableNames.length)] ?? { columns: [], ...NOWHERE };
    const user = people[chance.below(people.length)] ?? FRESH;
    const about = asked(columns)[chance.below(asked(columns).length)];
    return about === undefined ? [] : [about({ user, ...node })];
  });
  return { count: each * people.length, proof: proof.flat() };
}

const MODES = 2;
const OWNERSHIP = 1;
const NOWHERE: TableName = { catalog: FRESH, schema: FRESH, table: FRESH };

/** Columns with a policy on one of these nodes. */
function columnsOf(path: readonly NodeAccess[]): string[] {
  const outcomes = new Set(path.flatMap(({ changes }) => changes.map(({ nodeState }) => nodeState.effect)));
  return [...new Set([...outcomes].flatMap(({ columns = [] }) => columns.map(({ name }) => name)))];
}

type Ask = (where: TableName & { user: string }) => Question;

/** A question for each privilege, one for the filters, and two for each column. */
function asked(columns: readonly string[]): Ask[] {
  return [
    (where) => ({ ask: 'select', ...where, columns: [] }),
    (where) => ({ ask: 'insert', ...where }),
    (where) => ({ ask: 'update', ...where, columns: [] }),
    (where) => ({ ask: 'delete', ...where }),
    (where) => ({ ask: 'drop-table', ...where }),
    (where) => ({ ask: 'view-with-select', ...where, columns: [] }),
    (where) => ({ ask: 'filters', ...where }),
    ...columns.flatMap((column): Ask[] => [
      (where) => ({ ask: 'select', ...where, columns: [column] }),
      (where) => ({ ask: 'mask', ...where, name: column }),
    ]),
  ];
}
