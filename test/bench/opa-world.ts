import type { Snapshot, SnapshotPolicy } from '../../src/trino-rules/model/snapshot.js';
import type { PluginQuestion } from '../support/opa/plugin-question.js';
import { Chance } from '../support/snapshots/chance.js';
import { skewedSnapshot } from '../support/snapshots/skewed-snapshot.js';

export const GRANTS = [3_000, 30_000, 100_000] as const;
const POLICIES: Record<(typeof GRANTS)[number], number> = { 3_000: 161, 30_000: 701, 100_000: 2_101 };
export type Grants = (typeof GRANTS)[number];

const WIDE = { catalog: 'wide', schema: 'wide', table: 'wide' };

/** 2,000 people in 400 groups; the first one is in ten more, and reads a table with 100 masks. */
export function worldOf(grants: Grants): Snapshot {
  const size = { people: 2_000, groups: 400, catalogs: 20, schemas: 400, tables: 20_000 };
  const world = skewedSnapshot({ ...size, grants, policies: POLICIES[grants] }, 'real-like');
  const masks = Array.from({ length: 100 }, (_, at): SnapshotPolicy => ({
    ...{ id: POLICIES[grants] + at + 1, kind: 'column_mask', principal: { type: 'everyone' }, except: [] },
    ...{ resource: { ...WIDE, column: `column_${at * 10}` }, expression: "'***'" },
  }));
  const [asker] = world.users;
  const id = asker?.id ?? 0;
  return {
    ...world,
    groups: world.groups.map((group, at) =>
      at < 10 && !group.members.includes(id) ? { ...group, members: [...group.members, id] } : group,
    ),
    grants: [
      ...world.grants,
      {
        ...{ id: grants + 1, principal: { type: 'user', id }, resource: WIDE, privileges: ['SELECT'] },
        ...{ expiresAt: null, revokedAt: null },
      },
    ],
    policies: [...world.policies, ...masks],
  };
}

export interface WorldQuestions {
  /** Reading a table that somebody may read, asked about a holder or by chance about anybody. */
  reading: PluginQuestion[];
  /** Listing this many tables, of which half have a name that no grant mentions. */
  listing: (tables: number) => PluginQuestion;
  masks: PluginQuestion;
}

export function questionsOf({ users, groups, grants }: Snapshot): WorldQuestions {
  const chance = new Chance(7);
  const names = new Map(users.map(({ id, name }) => [id, name]));
  const members = new Map(groups.map((group) => [group.id, group.members]));
  const onTables = grants.filter(({ resource }) => resource.table !== undefined);
  const asker = users[0]?.name ?? '';
  const nameIn = ({ catalog = '', schema = '', table = '' }: (typeof onTables)[number]['resource']) => ({
    ...{ catalogName: catalog, schemaName: schema, tableName: table },
  });
  const reading = Array.from({ length: 1_000 }, (): PluginQuestion => {
    const { principal, resource } = onTables[chance.below(onTables.length)] ?? { resource: WIDE };
    const holders = principal?.type === 'group' ? (members.get(principal.id) ?? []) : [1];
    const user = chance.next() < 0.5 ? holders[chance.below(holders.length)] : chance.below(users.length) + 1;
    const table = { ...nameIn(resource), columns: ['name', 'region'] };
    const action = { operation: 'SelectFromColumns', resource: { table } };
    return { entryPoint: 'allow', user: names.get(user ?? 1) ?? '', action };
  });
  const [{ resource } = { resource: WIDE }] = onTables;
  const known = onTables.filter(({ resource: { schema } }) => schema === resource.schema);
  const listing = (tables: number): PluginQuestion => ({
    ...{ entryPoint: 'batch', user: asker },
    action: {
      operation: 'FilterTables',
      filterResources: Array.from({ length: tables }, (_, at) => {
        const named = at % 2 === 0 ? known[(at / 2) % known.length]?.resource.table : undefined;
        return { table: { ...nameIn(resource), tableName: named ?? `unnamed_${at}` } };
      }),
    },
  });
  const filterResources = Array.from({ length: 1_000 }, (_, at) => ({
    column: { ...nameIn(WIDE), columnName: `column_${at}`, columnType: 'varchar(25)' },
  }));
  const masks: PluginQuestion = {
    ...{ entryPoint: 'batchColumnMasks', user: asker },
    action: { operation: 'GetColumnMask', filterResources },
  };
  return { reading, listing, masks };
}
