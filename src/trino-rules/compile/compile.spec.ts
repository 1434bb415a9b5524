import fc from 'fast-check';
import { runs } from '../../../test/support/landing.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { Chance } from '../../../test/support/snapshots/chance.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { Evaluator } from '../engine/evaluator.js';
import type { Snapshot, SnapshotGrant } from '../model/snapshot.js';
import { checkRules } from '../verify/check.js';
import { compile } from './compile.js';
import { intentSets } from './intent-sets.js';
import { RulesTooLarge } from './table-rules.js';

describe('compiled rules', () => {
  it('merge what two groups give on one table', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana', 'bo'])
      .may('SELECT', 'sales.eu.orders')
      .group('writers', ['bo', 'cy'])
      .may('INSERT', 'sales.eu.orders')
      .snapshot();

    const { tables } = compile(snapshot).document;

    const at = { catalog: 'sales', schema: 'eu', table: 'orders' };
    expect(tables.filter(({ table }) => table === 'orders')).toEqual([
      { user: 'bo', ...at, privileges: ['SELECT', 'INSERT'] },
      { user: 'ana', ...at, privileges: ['SELECT'], filter: 'true' },
      { user: 'cy', ...at, privileges: ['INSERT'] },
    ]);
  });

  it('deny a table and its companions to the same users once', () => {
    const names = ['Zoë', '😀', 'ana', 'cy_1', 'an', 'k^', 'Ana2'];
    const users = names.map((name, at) => ({ id: at + 1, name, isActive: true }));
    const program = { type: 'engine', name: 'svcxreport' } as const;
    const others = { type: 'group', id: 2 } as const;
    const expression = "region = 'EU' ";
    const snapshot: Snapshot = {
      ...aSnapshot().group('staff', []).group('programs', [], ['job$1']).snapshot(),
      users,
      grants: [
        {
          id: 1,
          principal: { type: 'everyone' },
          privileges: ['UPDATE', 'GRANT_EXECUTE_FUNCTION'],
          resource: {},
          expiresAt: null,
          revokedAt: null,
        },
        {
          ...{ id: 2, principal: program, privileges: ['TABLE_OWNERSHIP'], expiresAt: null, revokedAt: null },
          resource: { catalog: 'lake', schema: 'say "hi"', table: 'say "hi"$files' },
        },
      ],
      policies: [
        {
          ...{ id: 1, principal: { type: 'everyone' }, except: [others, program], kind: 'column_mask', expression },
          resource: { column: '$path' },
        },
        {
          ...{ id: 2, principal: { type: 'everyone' }, except: [others], kind: 'row_filter', expression },
          resource: { catalog: 'lake', schema: 'say "hi"', table: 'ab' },
        },
      ],
    };

    const { text } = compile(snapshot);

    expect(checkRules(text, snapshot)).toEqual([]);
  });

  it('put the narrowest node first, with only the users whose access differs there', () => {
    const snapshot = aSnapshot()
      .group('staff', ['ana', 'bo'])
      .may('SELECT', 'sales')
      .user('bo')
      .mayNot('sales.eu.orders')
      .seesMasked('sales.eu', 'ssn', 'NULL')
      .snapshot();

    const { tables } = compile(snapshot).document;

    expect(tables.filter(({ catalog }) => catalog === 'sales')).toEqual([
      { user: 'bo', catalog: 'sales', schema: 'eu', table: 'orders', privileges: [] },
      { user: 'bo', catalog: 'sales', schema: 'eu', table: '.*[$].*', privileges: [] },
      {
        ...{ user: 'bo', catalog: 'sales', schema: 'eu', privileges: ['SELECT'], filter: 'true' },
        columns: [
          ...['$bucket', '$partition', '$path'].map((name) => ({ name, allow: false })),
          { name: 'ssn', mask: 'NULL' },
        ],
      },
      { user: 'ana|bo', catalog: 'sales', privileges: ['SELECT'], filter: 'true' },
    ]);
  });

  it('are refused where they would be larger than the target, with the parent where the limit was passed', () => {
    fc.assert(
      fc.property(anySnapshot(), fc.double({ min: 0, max: 1, noNaN: true }), (snapshot, share) => {
        const { text, document } = compile(snapshot);
        const bytes = Buffer.byteLength(text);
        expect(compile(snapshot, bytes).text).toBe(text);
        try {
          compile(snapshot, Math.floor(share * bytes));
        } catch (error) {
          if (!(error instanceof RulesTooLarge)) throw error;
          expect(error.minBytes).toBeLessThanOrEqual(bytes);
          expect(error.parentAtLimit.rulesInAll).toBeLessThanOrEqual(document.tables.length);
        }
      }),
      { numRuns: runs(200) },
    );
  });

  it('are counted by parent', () => {
    const snapshot = aSnapshot().group('g', ['ana']).may('SELECT', 'sales.eu.a').may('INSERT', 'sales.eu.b').snapshot();
    expect(compile(snapshot).parentWithMostRules).toEqual({ parent: 'sales.eu', rulesInAll: 2 });
    expect(() => compile(snapshot, 100)).toThrow(RulesTooLarge);
  });

  it('hold every section, closed for a snapshot without grants', () => {
    const { document, hash, text } = compile(aSnapshot().user('ana').snapshot());

    const user = 'service-account-grantline';
    expect(document).toEqual({
      catalogs: [
        { user, catalog: 'lake', allow: 'all' },
        { user, catalog: 'tpch', allow: 'read-only' },
        { user, catalog: 'system', allow: 'read-only' },
        { allow: 'none' },
      ],
      schemas: [
        { user, catalog: 'lake', owner: true },
        { user, catalog: 'tpch', owner: false },
        { user, catalog: 'system', owner: false },
      ],
      tables: [
        { user, catalog: 'lake', privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] },
        { user, catalog: 'tpch', privileges: ['SELECT'], filter: 'true' },
        { user, catalog: 'system', schema: 'jdbc|metadata', privileges: ['SELECT'] },
      ],
      queries: [{ user, allow: ['execute'] }],
      impersonation: [],
      functions: [],
      procedures: [],
      system_information: [],
      system_session_properties: [
        { user, property: `grantline_rules_${hash}`, allow: true },
        { property: 'grantline_rules_.*', allow: false },
        { user, allow: true },
      ],
      catalog_session_properties: [{ user, catalog: 'lake|tpch', allow: true }],
    });
    expect(text.split('\n').slice(0, 4)).toEqual([
      '{',
      '"catalogs":[',
      `{"user":"${user}","catalog":"lake","allow":"all"},`,
      `{"user":"${user}","catalog":"tpch","allow":"read-only"},`,
    ]);
  });

  it('let our own account impersonate users with access, and users set the listed session properties', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'sales').user('x$y').may('SELECT', 'sales').user('bo');

    const { document, findings } = compile(builder.with({ sessionProperties: ['query_max_run_time'] }).snapshot());

    const own = 'service-account-grantline';
    expect(document.impersonation).toEqual([{ original_user: own, new_user: 'ana', allow: true }]);
    expect(document.system_session_properties.at(-1)).toEqual({
      user: 'ana|x[$]y',
      property: 'query_max_run_time',
      allow: true,
    });
    expect(findings).toMatchObject([{ code: 'impersonation-name', severity: 'warning' }]);
  });

  it('report what has no effect in a snapshot', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'grantline.public')
      .may('SELECT', 'sales')
      .seesMasked('sales', 'ssn', 'a')
      .everyone()
      .seesMasked('sales', 'ssn', 'b')
      .engine('ANA')
      .may('SELECT', 'sales')
      .snapshot();

    expect(compile(snapshot).findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)).toEqual([
      'error name-clash: one name means two principals: person ana, engine ANA',
      'warning closed-catalog: grants and policies on grantline.public have no effect: nobody may be given anything in that catalog',
      'warning mask-conflict: two masks at the same distance claim column ssn of sales for ana: it is hidden from them',
    ]);
  });

  it('report expressions that let more through than they say', () => {
    const story = aSnapshot().user('ana').seesOnly('sales.eu', 'id NOT IN (SELECT id FROM m)');
    const { findings } = compile(story.seesMasked('sales.eu', 'card', 'element_at(current_groups(), 1)').snapshot());
    expect(findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)).toEqual([
      expect.stringContaining(
        'warning remarkable-expression: row filter 1: NOT IN (SELECT …) makes the row filter a join',
      ),
      expect.stringContaining('warning remarkable-expression: column mask 2: current_groups() asks'),
    ]);
  });

  it.each<[string, string[], (story: ReturnType<typeof aSnapshot>) => ReturnType<typeof aSnapshot>]>([
    ['a filter on a table', ['sales.eu', 'sales.eu.orders'], (story) => story.seesOnly('sales.eu.orders', 'true')],
    ['a deny of a table', ['sales.eu'], (story) => story.mayNot('sales.eu.orders')],
    ['a deny of other rights', ['sales.eu', 'sales.eu.orders'], (story) => story.mayNot('sales.eu.orders', 'SELECT')],
    ['a mask on a schema', ['sales.eu'], (story) => story.seesMasked('sales.eu', 'card', 'NULL')],
    ['a column hidden in two tables', ['sales.eu', 'sales.eu.a', 'sales.eu.b'], hidingInTwoTables],
  ])('report where %s takes more of ownership than it says', (_, places, restrict) => {
    const owner = aSnapshot().user('bo').may('OWNERSHIP', 'sales').user('ana').may('OWNERSHIP', 'sales');
    const findings = compile(restrict(owner).snapshot()).findings;
    expect(findings).toMatchObject([{ code: 'ownership-restricted', severity: 'warning' }]);
    expect(findings[0]?.message).toContain(`on ${places.join(', ')}: `);
    expect(findings[0]?.message).toContain('for ana, who');
  });

  it.each<[string, string, string | undefined, string[]]>([
    ['of a table, of the owner of its schema', 'SCHEMA_OWNERSHIP', undefined, ['ownership-restricted']],
    ['of ownership, of the owner of the table', 'TABLE_OWNERSHIP', 'OWNERSHIP', []],
    ['of a table, of its reader', 'SELECT', undefined, []],
  ])('report a deny %s: %s', (_, given, denied, codes) => {
    const story = aSnapshot().user('ana').may(given, 'sales').mayNot('sales.eu.orders', denied);
    expect(compile(story.snapshot()).findings.map(({ code }) => code)).toEqual(codes);
  });

  it('are the same bytes for the same snapshot in any order', () => {
    fc.assert(
      fc.property(anySnapshot(), fc.nat(), (snapshot, seed) => {
        expect(compile(inAnyOrder(snapshot, new Chance(seed))).text).toBe(compile(snapshot).text);
      }),
      { numRuns: 50 },
    );
  });

  it('are the same bytes without what has expired or was revoked', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const isOver = ({ expiresAt, revokedAt }: SnapshotGrant) =>
          revokedAt !== null || (expiresAt !== null && expiresAt <= NOW);
        const grants = snapshot.grants.filter((grant) => !isOver(grant));
        expect(rulesOf({ ...snapshot, grants })).toBe(rulesOf(snapshot));
      }),
      { numRuns: 50 },
    );
  });

  it('come back to the same bytes when a grant is revoked, and change for one person only', () => {
    const granted = fc
      .tuple(anySnapshot(), anySnapshot())
      .filter(([snapshot, other]) => snapshot.users.length > 0 && other.grants.length > 0);
    fc.assert(
      fc.property(granted, ([snapshot, other]) => {
        const [person] = snapshot.users;
        const resource = other.grants[0]?.resource;
        if (!person || !resource) throw new Error('filtered above');
        const privileges = other.grants[0]?.privileges ?? [];
        const row = {
          id: 99,
          principal: { type: 'user', id: person.id },
          resource,
          privileges,
          expiresAt: null,
        } as const;
        const before = compile(snapshot);
        const given = { ...snapshot, grants: [...snapshot.grants, { ...row, revokedAt: null }] };
        const taken = { ...snapshot, grants: [...snapshot.grants, { ...row, revokedAt: NOW }] };

        expect(rulesOf(taken)).toBe(rulesOf(snapshot));
        const known = intentSets(given).principals.subjects.map(({ name }) => name);
        const after = compile(given);
        for (const name of [...known, 'a stranger'].filter((each) => each !== person.name)) {
          expect(accessOf(new Evaluator(after.document), name, given)).toEqual(
            accessOf(new Evaluator(before.document), name, given),
          );
        }
      }),
      { numRuns: 25 },
    );
  });
});

function rulesOf(snapshot: Snapshot): string {
  return compile(snapshot).text;
}

/** The access of one user on every node that the snapshot names, and on fresh names besides. */
function accessOf(engine: Evaluator, user: string, snapshot: Snapshot): unknown[] {
  const fresh = { catalog: 'fresh', schema: 'fresh', table: 'fresh' };
  const named = [...snapshot.grants, ...snapshot.policies].map(({ resource }) => resource);
  return named.map((node) => {
    const place = { ...fresh, ...node };
    const rule = engine.rules.tables[engine.tableRuleIndex(user, place) ?? -1];
    const held = [rule?.privileges ?? [], rule?.filter, rule?.columns];
    return [
      engine.catalogMode(user, place.catalog),
      engine.ownsSchema(user, place),
      engine.hasQueryRight(user, 'execute'),
      held,
    ];
  });
}

function inAnyOrder(snapshot: Snapshot, chance: Chance): Snapshot {
  const shuffled = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => ({ item, order: chance.next() }))
      .sort((a, b) => a.order - b.order)
      .map(({ item }) => item);
  return {
    users: shuffled(snapshot.users),
    groups: shuffled(snapshot.groups.map((group) => ({ ...group, members: shuffled(group.members) }))),
    grants: shuffled(snapshot.grants.map((grant) => ({ ...grant, privileges: shuffled(grant.privileges) }))),
    policies: shuffled(snapshot.policies.map((policy) => ({ ...policy, except: shuffled(policy.except) }))),
    settings: {
      ...snapshot.settings,
      serviceAccounts: shuffled(snapshot.settings.serviceAccounts),
      writableCatalogs: shuffled(snapshot.settings.writableCatalogs),
      readableCatalogs: shuffled(snapshot.settings.readableCatalogs),
      sessionProperties: shuffled(snapshot.settings.sessionProperties),
    },
    at: snapshot.at,
  };
}

function hidingInTwoTables(story: ReturnType<typeof aSnapshot>): ReturnType<typeof aSnapshot> {
  return story.doesNotSee('sales.eu.a', 'card').doesNotSee('sales.eu.b', 'card');
}
