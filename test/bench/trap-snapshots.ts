import type { PolicyPrincipal, Principal } from '../../src/trino-rules/model/principal.js';
import { isDataPrivilege, PRIVILEGES, type Privilege } from '../../src/trino-rules/model/privilege.js';
import type { Node } from '../../src/trino-rules/model/node.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../../src/trino-rules/model/snapshot.js';
import { NOW, SETTINGS } from '../support/snapshots/snapshot-builder.js';
import { Chance } from '../support/snapshots/chance.js';

/** Snapshots of modest size that are hard to cover, to join or to prove. `times` multiplies everything that is counted. */
export const TRAPS = {
  'pairs of overlapping groups': pairsOfGroups,
  'a row filter for each person': ownRows,
  'own rows, and tables for all users': ownRowsOnTables,
  'hidden columns over many schemas': hiddenColumns,
  'policies with many exceptions': exceptions,
  'a random table for each grant': scattered,
  'nested groups': staircase,
  'overlapping filters at three levels': filterLattice,
  'a mask for each person': ownMasks,
  'every set of privileges': privilegeMix,
  'filters of overlapping halves, and their tables': filteredHalves,
  'masks for random halves': maskedHalves,
  'a table for each random half': scatteredHalves,
  'queries of overlapping groups': queriesOfGroups,
  'programs that act as others, less denies': programsLessDenies,
  'programs that act as groups, less groups': programsOfGroups,
} as const satisfies Record<string, (times: number) => Snapshot>;

export type Trap = keyof typeof TRAPS;

/** People, memberships, grants, policies and exceptions. */
export function inputOf({ users, groups, grants, policies }: Snapshot): number {
  const members = groups.reduce((sum, group) => sum + group.members.length, 0);
  const excepted = policies.reduce((sum, policy) => sum + policy.except.length, 0);
  return users.length + members + grants.length + policies.length + excepted;
}

/** Two of the groups for each table of one schema: 2,970 grants by 55 groups. */
function pairsOfGroups(times: number): Snapshot {
  const builder = new TrapBuilder(300 * times);
  const groups = counted(Math.round(55 * Math.sqrt(times))).map(() => builder.randomGroup(60 * Math.sqrt(times)));
  for (const [i, one] of groups.entries())
    for (const [j, other] of groups.slice(0, i).entries())
      for (const group of [one, other]) builder.grant(group, ['SELECT'], TABLE(`table_${i}_${j}`));
  return builder.snapshot();
}

/** All users read their own rows of a catalog; groups write into some tables. */
function ownRows(times: number): Snapshot {
  const builder = withOwnRows(1_000 * times);
  for (const i of counted(100)) builder.grant(builder.randomGroup(20 * times), ['INSERT'], TABLE(`table_${i}`));
  return builder.snapshot();
}

function withOwnRows(people: number): TrapBuilder {
  const builder = new TrapBuilder(people);
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  for (const id of builder.ids)
    builder.policy({
      kind: 'row_filter',
      principal: { type: 'user', id },
      resource: { catalog: 'sales' },
      expression: `owner = 'person_${id}'`,
    });
  return builder;
}

/** All users read their own rows of a catalog and write into a hundred of its tables: an effect per table and user. */
function ownRowsOnTables(times: number): Snapshot {
  const builder = withOwnRows(1_000 * times);
  for (const i of counted(100)) builder.grant(builder.all, ['INSERT'], TABLE(`table_${i}`));
  return builder.snapshot();
}

/** Three hundred columns hidden from all users of a catalog, whose many schemas are granted to groups. */
function hiddenColumns(times: number): Snapshot {
  const builder = new TrapBuilder(1_000);
  const groups = counted(50 * times).map(() => builder.randomGroup(100));
  for (const i of counted(300))
    builder.policy({
      kind: 'hidden_column',
      principal: { type: 'everyone' },
      resource: { catalog: 'sales', column: `column_${i}` },
    });
  for (const i of counted(3_000 * times))
    builder.grant(builder.pick(groups), ['SELECT'], { catalog: 'sales', schema: `schema_${i}` });
  return builder.snapshot();
}

/** Each table is closed to all users but a thousand. */
function exceptions(times: number): Snapshot {
  const builder = new TrapBuilder(2_000);
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  for (const i of counted(800 * times)) {
    const except = builder.sample(1_000).map((id) => ({ type: 'user', id }) as const);
    builder.policy({
      kind: 'deny',
      principal: { type: 'everyone' },
      except,
      privileges: PRIVILEGES.filter(isDataPrivilege),
      resource: TABLE(`table_${i}`),
    });
  }
  return builder.snapshot();
}

/** No two people have much in common. */
function scattered(times: number): Snapshot {
  const builder = new TrapBuilder(2_000 * times);
  counted(20_000 * times).forEach(() => {
    const id = builder.chance.below(builder.ids.length) + 1;
    builder.grant({ type: 'user', id }, ['SELECT'], TABLE(`table_${builder.chance.below(2_000 * times)}`));
  });
  return builder.snapshot();
}

/** The n-th group holds the first n people, and has the n-th table. */
function staircase(times: number): Snapshot {
  const steps = Math.round(500 * Math.sqrt(times));
  const builder = new TrapBuilder(steps);
  for (const step of counted(steps))
    builder.grant(builder.group(builder.ids.slice(0, step + 1)), ['SELECT'], TABLE(`table_${step}`));
  return builder.snapshot();
}

/** Groups that overlap at random have filters on a catalog, on schemas and on tables: hardly two people see the same rows. */
function filterLattice(times: number): Snapshot {
  const builder = new TrapBuilder(200 * times);
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  const filter = (resource: Node, i: number): void => {
    const principal = builder.randomGroup(100 * times);
    builder.policy({ kind: 'row_filter', principal, resource, expression: `region_${i} = 'EU'` });
  };
  for (const i of counted(12)) filter({ catalog: 'sales' }, i);
  for (const i of counted(10)) filter({ catalog: 'sales', schema: `schema_${i}` }, i + 100);
  for (const i of counted(50)) filter({ catalog: 'sales', schema: `schema_${i % 10}`, table: `table_${i}` }, i + 200);
  return builder.snapshot();
}

/** All users see one column with a mask of their own; groups write into some schemas. */
function ownMasks(times: number): Snapshot {
  const builder = new TrapBuilder(1_000 * times);
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  for (const id of builder.ids)
    builder.policy({
      kind: 'column_mask',
      principal: { type: 'user', id },
      resource: { catalog: 'sales', column: 'name' },
      expression: `mask_${id}(name)`,
    });
  for (const i of counted(100))
    builder.grant(builder.randomGroup(20 * times), ['INSERT'], { catalog: 'sales', schema: `schema_${i}` });
  return builder.snapshot();
}

/** Groups that overlap have any privileges on any of the tables. */
function privilegeMix(times: number): Snapshot {
  const builder = new TrapBuilder(500 * times);
  const groups = counted(60).map(() => builder.randomGroup(50 * times));
  counted(4_000 * times).forEach(() => {
    const privileges = PRIVILEGES.filter((one) => isDataPrivilege(one) && builder.chance.next() < 1 / 3);
    if (privileges.length > 0)
      builder.grant(builder.pick(groups), privileges, TABLE(`table_${builder.chance.below(500 * times)}`));
  });
  return builder.snapshot();
}

/** Twenty halves of the people have a row filter each on a catalog, and 500 of its tables: hardly two people see the same rows. */
function filteredHalves(times: number): Snapshot {
  const people = 3_000 * times;
  const builder = new TrapBuilder(people);
  const halves = counted(20).map(() => builder.randomGroup(people / 2));
  for (const [i, principal] of halves.entries())
    builder.policy({ kind: 'row_filter', principal, resource: { catalog: 'sales' }, expression: `region_${i} = 'EU'` });
  for (const i of counted(500)) builder.grant(builder.pick(halves), ['SELECT'], TABLE(`table_${i}`));
  return builder.snapshot();
}

/** A column masked for each of a thousand halves: a person's rule has five hundred masks. */
function maskedHalves(times: number): Snapshot {
  const builder = new TrapBuilder(1_000 * times);
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  for (const i of counted(1_000))
    builder.policy({
      kind: 'column_mask',
      principal: builder.randomGroup(500 * times),
      resource: { catalog: 'sales', column: `column_${i}` },
      expression: `mask_${i}(name)`,
    });
  return builder.snapshot();
}

/** No two tables have the same readers. */
function scatteredHalves(times: number): Snapshot {
  const builder = new TrapBuilder(1_000 * times);
  for (const i of counted(3_000)) builder.grant(builder.randomGroup(500 * times), ['SELECT'], TABLE(`table_${i}`));
  return builder.snapshot();
}

/** Groups that overlap at random view and kill one another's queries, and denies take some: hardly two people have the same over the same owners. */
function queriesOfGroups(times: number): Snapshot {
  const builder = new TrapBuilder(Math.round(700 * Math.sqrt(times)));
  const groups = counted(Math.round(60 * Math.sqrt(times))).map(() => builder.randomGroup(80 * Math.sqrt(times)));
  const queriesOf = (queries: Principal): Node => ({ queries });
  builder.grant(builder.all, ['SELECT'], { catalog: 'sales' });
  for (const principal of groups) {
    builder.grant(principal, ['VIEW_QUERIES'], queriesOf(builder.pick(groups)));
    builder.grant(principal, ['KILL_QUERIES'], queriesOf(builder.pick(groups)));
    const spared = queriesOf(builder.pick(groups));
    builder.policy({ kind: 'deny', principal, privileges: ['KILL_QUERIES'], resource: spared });
  }
  return builder.snapshot();
}

/** Programs that act as everyone, and denies that leave them next to nobody: a small text for much work. */
function programsLessDenies(times: number): Snapshot {
  const builder = new TrapBuilder(1_000 * times);
  for (const i of counted(500 * times)) builder.grant(program(i), ['IMPERSONATE'], actingAs({ type: 'everyone' }));
  for (const id of builder.sample(400 * times))
    builder.policy({
      kind: 'deny',
      principal: { type: 'everyone' },
      privileges: ['IMPERSONATE'],
      resource: actingAs({ type: 'user', id }),
    });
  return builder.snapshot();
}

/** Programs that act as groups that overlap at random, less others of them: hardly two act as the same. */
function programsOfGroups(times: number): Snapshot {
  const builder = new TrapBuilder(Math.round(1_000 * Math.sqrt(times)));
  const groups = counted(60).map(() => builder.randomGroup(builder.ids.length / 2));
  const programs = counted(Math.round(500 * Math.sqrt(times))).map(program);
  for (const one of programs) builder.grant(one, ['IMPERSONATE'], actingAs(builder.pick(groups)));
  for (const principal of programs)
    builder.policy({
      kind: 'deny',
      principal,
      privileges: ['IMPERSONATE'],
      resource: actingAs(builder.pick(groups)),
    });
  return builder.snapshot();
}

const program = (i: number): Principal => ({ type: 'engine', name: `program_${i}` });
const actingAs = (as: PolicyPrincipal): Node => ({ as });

const TABLE = (table: string): Node => ({ catalog: 'sales', schema: 'eu', table });

type Worded<P> = P extends SnapshotPolicy ? Omit<P, 'id' | 'except'> & { except?: readonly Principal[] } : never;

class TrapBuilder {
  readonly chance = new Chance(1);
  readonly ids: readonly number[];
  private readonly groups: SnapshotGroup[] = [];
  private readonly grants: SnapshotGrant[] = [];
  private readonly policies: SnapshotPolicy[] = [];

  constructor(people: number) {
    this.ids = counted(people).map((i) => i + 1);
  }

  get all(): Principal {
    return this.group(this.ids);
  }

  group(members: readonly number[]): Principal {
    const id = this.groups.length + 1;
    this.groups.push({ id, name: `group_${id}`, members, engines: [] });
    return { type: 'group', id };
  }

  randomGroup(size: number): Principal {
    return this.group(this.sample(Math.round(size)));
  }

  sample(size: number): number[] {
    return this.chance.sample(this.ids.length, size).map((position) => position + 1);
  }

  pick<T>(items: readonly T[]): T {
    const picked = items[this.chance.below(items.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  grant(principal: Principal, privileges: readonly Privilege[], resource: Node): void {
    this.grants.push({ id: this.grants.length + 1, principal, resource, privileges, expiresAt: null, revokedAt: null });
  }

  policy(policy: Worded<SnapshotPolicy>): void {
    this.policies.push({ except: [], ...policy, id: this.policies.length + 1 });
  }

  snapshot(): Snapshot {
    const users = this.ids.map((id) => ({ id, name: `person_${id}`, isActive: true }));
    const { groups, grants, policies } = this;
    return { users, groups, grants, policies, settings: { ...SETTINGS, writableCatalogs: [] }, at: NOW };
  }
}

function counted(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
