import type { PolicyPrincipal, Principal } from '../../../src/trino-rules/model/principal.js';
import type { Privilege } from '../../../src/trino-rules/model/privilege.js';
import type { Node } from '../../../src/trino-rules/model/node.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
} from '../../../src/trino-rules/model/snapshot.js';
import { NOW, SETTINGS } from './snapshot-builder.js';
import { Chance } from './chance.js';
import { numberedNames, realisticNames, type GeneratedNames } from './generated-names.js';

export interface SnapshotSize {
  people: number;
  groups: number;
  grants: number;
  policies: number;
  catalogs: number;
  schemas: number;
  tables: number;
}

export const SIZES = {
  team: { people: 50, groups: 20, grants: 300, policies: 8, catalogs: 2, schemas: 60, tables: 5_000 },
  enterprise: { people: 1_000, groups: 60, grants: 10_000, policies: 80, catalogs: 10, schemas: 80, tables: 4_000 },
  extreme: {
    people: 10_000,
    groups: 300,
    grants: 100_000,
    policies: 800,
    catalogs: 40,
    schemas: 2_000,
    tables: 60_000,
  },
} as const satisfies Record<string, SnapshotSize>;

export function scaled(size: SnapshotSize, factor: number): SnapshotSize {
  const by = (count: number) => Math.max(1, Math.round(count * factor));
  return {
    people: by(size.people),
    groups: by(size.groups),
    grants: by(size.grants),
    policies: by(size.policies),
    catalogs: by(size.catalogs),
    schemas: by(size.schemas),
    tables: by(size.tables),
  };
}

/**
 * A snapshot as installations have it: few nodes and groups are popular and most are not; a third of the grants go to single
 * people; most are on tables. The same size, kind of names and seed give the same snapshot.
 */
export function skewedSnapshot(size: SnapshotSize, names: 'numbered' | 'real-like', seed = 1): Snapshot {
  const chance = new Chance(seed);
  const called = names === 'numbered' ? numberedNames() : realisticNames(seed);
  const users = from1(size.people).map((id) => ({ id, name: called.person(id), isActive: true }));
  const groups = groupsOf(size, called, chance);
  const tree = treeOf(size, called, chance);
  const principal = (): Principal =>
    chance.next() < 1 / 3
      ? { type: 'user', id: chance.below(size.people) + 1 }
      : { type: 'group', id: chance.skewed(size.groups) + 1 };
  // A team works with a few schemas most of the time.
  const homes = groups.map(() => from1(HOMES).map(() => aSchema(chance, tree)));
  const grants = from1(size.grants).map((id): SnapshotGrant => {
    const grantee = principal();
    const home = grantee.type === 'group' && chance.next() < AT_HOME ? homes[grantee.id - 1] : undefined;
    const resource = nodeIn(home ? chance.pick(home) : aSchema(chance, tree), chance, GRANT_DEPTHS);
    return {
      id,
      principal: grantee,
      resource,
      privileges: chance.weighted(PRIVILEGE_SETS),
      expiresAt: null,
      revokedAt: null,
    };
  });
  const policies = from1(size.policies).map((id) => aPolicy(id, chance, tree, principal));
  return {
    users,
    groups,
    grants,
    policies,
    settings: {
      ...SETTINGS,
      writableCatalogs: tree.slice(0, 1).flatMap((schemas) => schemas.slice(0, 1).map(({ catalog }) => catalog)),
    },
    at: NOW,
  };
}

/** A few large groups and many small ones, popular ones of any size; users are in about three each. */
function groupsOf({ people, groups }: SnapshotSize, called: GeneratedNames, chance: Chance): SnapshotGroup[] {
  const weights = from1(groups).map((id) => 1 / (1 + (8 * ((id * 7) % groups)) / groups));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, i) => {
    const count = Math.min(people, Math.max(2, Math.round((MEMBERSHIPS * people * weight) / total)));
    return {
      id: i + 1,
      name: called.group(i + 1),
      members: chance.sample(people, count).map((position) => position + 1),
      engines: [],
    };
  });
}

const MEMBERSHIPS = 7;

interface Schema {
  catalog: string;
  schema: string;
  tables: string[];
}

/** The schemas of each catalog. The first catalogs and schemas are the large ones; none is empty. */
function treeOf(size: SnapshotSize, called: GeneratedNames, chance: Chance): Schema[][] {
  const catalogs = from1(size.catalogs).map((id) => ({ catalog: called.catalog(id), schemas: [] as Schema[] }));
  const schemas = from1(size.schemas).map((id) => {
    const home = catalogs[id <= size.catalogs ? id - 1 : chance.skewed(size.catalogs)];
    const made = { catalog: home?.catalog ?? '', schema: called.schema(id), tables: [] as string[] };
    home?.schemas.push(made);
    return made;
  });
  for (const id of from1(size.tables)) {
    schemas[id <= size.schemas ? id - 1 : chance.skewed(size.schemas)]?.tables.push(called.table(id));
  }
  return catalogs.map((catalog) => catalog.schemas);
}

function aSchema(chance: Chance, tree: readonly Schema[][]): Schema {
  return chance.pick(chance.pick(tree));
}

function nodeIn({ catalog, schema, tables }: Schema, chance: Chance, depths: Depths): Node {
  const depth = chance.weighted(depths);
  if (depth === 'catalog') return { catalog };
  return depth === 'schema' ? { catalog, schema } : { catalog, schema, table: chance.pick(tables) };
}

const HOMES = 4;
const AT_HOME = 0.5;
type Depths = readonly (readonly ['catalog' | 'schema' | 'table', number])[];
const GRANT_DEPTHS: Depths = [
  ['catalog', 0.3],
  ['schema', 8],
  ['table', 91.7],
];
const POLICY_DEPTHS: Depths = [
  ['catalog', 1],
  ['schema', 24],
  ['table', 75],
];

function aPolicy(id: number, chance: Chance, tree: readonly Schema[][], anyPrincipal: () => Principal): SnapshotPolicy {
  const subject: PolicyPrincipal = chance.next() < 0.5 ? { type: 'everyone' } : anyPrincipal();
  const base = { id, principal: subject, except: chance.next() < 0.5 ? [anyPrincipal()] : [] };
  const resource = nodeIn(aSchema(chance, tree), chance, POLICY_DEPTHS);
  const column = { ...resource, column: chance.pick(['email', 'phone', 'iban', 'birth_date', 'salary']) };
  switch (chance.weighted(POLICY_KINDS)) {
    case 'row_filter':
      return { ...base, kind: 'row_filter', resource, expression: `region = '${chance.pick(['EU', 'US', 'APAC'])}'` };
    case 'column_mask':
      return { ...base, kind: 'column_mask', resource: column, expression: chance.pick(['NULL', `'***'`]) };
    case 'hidden_column':
      return { ...base, kind: 'hidden_column', resource: column };
    case 'deny':
      return {
        ...base,
        kind: 'deny',
        resource,
        privileges: chance.pick<Privilege[]>([['INSERT', 'UPDATE', 'DELETE'], ['SELECT']]),
      };
  }
}

const PRIVILEGE_SETS: readonly (readonly [Privilege[], number])[] = [
  [['SELECT'], 80],
  [['SELECT', 'INSERT'], 5],
  [['SELECT', 'INSERT', 'DELETE', 'UPDATE'], 7],
  [['SELECT', 'GRANT_SELECT'], 4],
  [['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'], 4],
];
const POLICY_KINDS = [
  ['row_filter', 3],
  ['column_mask', 3],
  ['hidden_column', 2],
  ['deny', 2],
] as const;

function from1(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
