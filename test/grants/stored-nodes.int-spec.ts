import { DataSource } from 'typeorm';
import type { GrantFilter, NewGrant } from '../../src/grants/domain/grant.js';
import { localGroup } from '../../src/grants/domain/group.js';
import { GrantStore } from '../../src/grants/grant.store.js';
import { GroupStore } from '../../src/grants/group.store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import type { Node } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { NOW } from '../support/snapshots/snapshot-builder.js';

/** What the tables take, whatever the model opens already. */
describe('grants on nodes of every kind, in the tables,', () => {
  let database: TestDatabase;
  let source: DataSource;
  let grants: GrantStore;
  let groups: GroupStore;
  let team: number;
  beforeAll(async () => {
    database = await freshDatabase();
    source = await new DataSource({ type: 'postgres', url: database.migrationUrl }).initialize();
    // Which privileges a node has is no matter here.
    for (const known of ['privileges_known', 'acting_held_by_engine_principals'])
      await source.query(`ALTER TABLE grants DROP CONSTRAINT grants_${known}`);
    await source.query(`INSERT INTO principal_names (name, holder, claimed_at) VALUES ('bi', 'engine', now())`);
    const session = new DatabaseSession(source);
    grants = new GrantStore(session, parseSettings({ AUTH_SECRET_KEY: TEST_SECRET }).settings);
    groups = new GroupStore(session);
    const [made] = await groups.create([localGroup('team', null)], NOW);
    team = made?.id ?? 0;
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  const onNode = (resource: Node, principal: PolicyPrincipal = { type: 'everyone' }): NewGrant => ({
    ...{ principal, resource, privileges: ['SELECT'], expiresAt: null, description: null },
  });
  const nodes = (): Node[] => [
    {},
    { catalog: 'a' },
    { catalog: 'a', schema: 'b', routine: 'c' },
    { engine: true },
    { as: { type: 'everyone' } },
    { as: { type: 'group', id: team } },
    { as: { type: 'engine', name: 'bi' } },
    { queries: { type: 'group', id: team } },
    { queries: { type: 'engine', name: 'bi' } },
  ];

  it('are one each, however often they are given, and read as they were written', async () => {
    const asked = [
      ...nodes().map((node) => onNode(node)),
      ...nodes().map((node) => onNode(node, { type: 'group', id: team })),
    ];

    const first = await grants.grant([...asked, ...asked], null, NOW);
    const again = await grants.grant(asked, null, NOW);

    expect(first.map(({ isNew }) => isNew)).toEqual([...asked.map(() => true), ...asked.map(() => false)]);
    expect(again.map(({ isNew, grant }) => [isNew, grant.id])).toEqual(
      first.slice(0, asked.length).map(({ grant }) => [false, grant.id]),
    );
    expect(again.map(({ grant }) => grant.resource)).toMatchObject([...nodes(), ...nodes()]);
    expect(again.at(5)?.grant.resource).toEqual({ as: { type: 'group', id: team, name: 'team' } });
  });

  it('are listed by the kind of node, and by whom it names', async () => {
    const listed = async (filter: Partial<GrantFilter>) => {
      const asked = { ...filter, state: 'live' } as const;
      return (await grants.list(asked, { limit: 50, after: null }, NOW)).items.map(({ resource }) => resource);
    };
    const principal = { type: 'everyone' } as const;

    expect(await listed({ principal, kind: 'everything' })).toEqual([{}]);
    expect(await listed({ principal, kind: 'engine' })).toEqual([{ engine: true }]);
    expect(await listed({ principal, kind: 'acting' })).toHaveLength(3);
    expect(await listed({ principal, kind: 'acting', targetPrincipal: { type: 'everyone' } })).toEqual([
      { as: { type: 'everyone' } },
    ]);
    expect(await listed({ principal, kind: 'acting', targetPrincipal: { type: 'engine', name: 'bi' } })).toHaveLength(
      1,
    );
    expect(await listed({ principal, kind: 'queries', targetPrincipal: { type: 'engine', name: 'bi' } })).toEqual([
      { queries: { type: 'engine', name: 'bi' } },
    ]);
    expect(await listed({ principal, routine: 'c' })).toHaveLength(1);
    expect(await listed({ principal, table: 'c' })).toEqual([]);
  });

  it('are none in the catalog system but reading its tables, and the procedure that kills', async () => {
    const onSystem = (resource: Node, privileges: NewGrant['privileges'] = ['SELECT']): NewGrant => ({
      ...onNode({ catalog: 'system', ...resource }),
      privileges,
    });
    const nodes = [{}, { schema: 'jdbc' }, { schema: 'metadata' }, { schema: 'runtime', table: 'queries' }];
    const kill = onSystem({ schema: 'runtime', routine: 'kill_query' }, ['CALL_PROCEDURE']);
    expect(await grants.grant([...nodes.map((node) => onSystem(node)), kill], null, NOW)).toHaveLength(5);
    for (const refused of [
      onSystem({ schema: 'builtin' }),
      onSystem({ schema: 'builtin', table: 'queries' }),
      onSystem({ schema: 'runtime', routine: 'load' }, ['CALL_PROCEDURE']),
      onSystem({ schema: 'runtime', routine: 'kill_query' }, ['EXECUTE_FUNCTION']),
      onSystem({}, ['SELECT', 'INSERT']),
    ])
      await expect(grants.grant([refused], null, NOW)).rejects.toThrow('grants_in_system');
    const policy = (kind: string, column: string, value: unknown) =>
      source.query(
        `INSERT INTO policies (kind, is_for_everyone, catalog_name, created_at, changed_at, ${column})
         VALUES ($1, true, 'system', now(), now(), $2)`,
        [kind, value],
      );
    await policy('deny', 'privileges', ['SELECT']);
    await expect(policy('row_filter', 'expression', 'true')).rejects.toThrow('policies_in_system');
    await expect(policy('deny', 'privileges', ['INSERT'])).rejects.toThrow('policies_in_system');
  });

  it('keep a group that one acts as', async () => {
    const [other] = await groups.create([localGroup('viewers', null)], NOW);
    const id = other?.id ?? 0;
    const [given] = await grants.grant([onNode({ as: { type: 'group', id } })], null, NOW);

    expect(await groups.delete(id, NOW)).toMatchObject({ uses: [{ kind: 'grant' }] });
    await grants.revoke([given?.grant.id ?? 0], null, NOW);
    expect(await groups.delete(id, NOW)).toBe('deleted');
  });
});
