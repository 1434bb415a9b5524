import fc from 'fast-check';
import { runs } from '../support/landing.js';
import {
  accessAt,
  answer,
  type Asked,
  asked,
  engines,
  nodes,
  principals,
  questionOf,
  users,
} from '../support/rules/asked.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { applyChanges } from '../support/snapshots/apply-changes.js';
import { SYSTEM_SCHEMAS } from '../../src/trino-rules/model/resource.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { effectiveAccess, isSameAccess } from '../../src/trino-rules/answers/effective-access.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { type HolderQuestion, holders } from '../../src/trino-rules/answers/holders.js';
import { smallestChange } from '../../src/trino-rules/answers/smallest-change.js';
import { canBeImpersonated, coversMembers } from '../../src/trino-rules/model/named-others.js';
import { type Access, intentAt } from '../../src/trino-rules/model/intent.js';
import { compareNodes, covers, nodeKey, principalIn, type Node } from '../../src/trino-rules/model/node.js';
import { principalText } from '../../src/trino-rules/model/principal.js';
import { isServiceAccount } from '../../src/trino-rules/model/principals.js';
import { holderProblem } from '../../src/trino-rules/model/privilege.js';

const OVER_QUERIES = ['VIEW_QUERIES', 'KILL_QUERIES'] as const;
const NOTHING = { privileges: [], filters: [], hiddenColumns: [], masks: [], conflictColumns: [] };

/** On a table, TABLE_OWNERSHIP and OWNERSHIP are the same. */
const named = (node: Node, { privileges, ...access }: Access): Access => ({
  ...access,
  privileges: privileges
    .map((one) => (one === 'TABLE_OWNERSHIP' && node.table !== undefined ? 'OWNERSHIP' : one))
    .sort(),
});

describe('effective access', () => {
  it('holds at its node and below it, down to the next entry', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        const wrong = principals(snapshot).flatMap((principal) => {
          const entries = effectiveAccess(index, principal);
          // Of acting as others and of queries, whose nodes overlap: see below.
          // Companions of what an entry restricts are closed with it, and have entries only where the principal's own grants or policies name them.
          const { grants, policies } = index.snapshotFor(principal);
          const namedKeys = new Set([...grants, ...policies].map(({ resource }) => nodeKey(resource)));
          const isCovered = (node: Node): boolean => node.table?.includes('$') !== true || namedKeys.has(nodeKey(node));
          const inTree = nodes(snapshot).filter((node) => principalIn(node) === undefined && isCovered(node));
          return inTree.flatMap((node) => {
            const nearest = entries.filter(({ resource }) => covers(resource, node)).at(-1)?.access ?? NOTHING;
            const intended = intentAt(snapshot, principal, node);
            const isClosed = node.catalog === 'system' || node.catalog === snapshot.settings.metadataCatalog;
            return isClosed || isSameAccess(named(node, accessAt(node, nearest)), named(node, intended))
              ? []
              : [{ principal, node, nearest, intended }];
          });
        });
        expect(wrong).toEqual([]);
      }),
    );
  });

  it('of acting as others is where an entry gives it, and none takes it', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        const targets = [...users(snapshot), ...engines(snapshot)].filter((one) =>
          canBeImpersonated(index.principals, one),
        );
        for (const principal of engines(snapshot)) {
          const entries = effectiveAccess(index, principal);
          const found = targets.filter((as) => {
            const covering = entries.filter(
              ({ resource }) => resource.as && coversMembers(index.principals, resource, { as }),
            );
            return covering.length > 0 && covering.every(({ access }) => access.privileges.length > 0);
          });
          const intended = targets.filter((as) => intentAt(snapshot, principal, { as }).privileges.length > 0);
          expect(found).toEqual(intended);
        }
      }),
    );
  });

  it('of queries is where the nearest entries give it', () => {
    const rank = ({ queries }: Node): number =>
      queries === undefined ? 0 : queries.type === 'everyone' ? 1 : queries.type === 'group' ? 2 : 3;
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        const owners = [...users(snapshot), ...engines(snapshot)].filter((one) => !isServiceAccount(snapshot, one));
        for (const principal of [...users(snapshot), ...engines(snapshot)]) {
          const entries = effectiveAccess(index, principal);
          const found = owners.map((queries) => {
            const covering = entries.filter(({ resource }) => coversMembers(index.principals, resource, { queries }));
            const nearest = Math.max(...covering.map(({ resource }) => rank(resource)));
            const there = covering.filter(({ resource }) => rank(resource) === nearest);
            return OVER_QUERIES.filter((one) => there.some(({ access }) => access.privileges.includes(one)));
          });
          expect(found).toEqual(owners.map((queries) => intentAt(snapshot, principal, { queries }).privileges));
        }
      }),
    );
  });

  it('comes in pages, by name', () => {
    fc.assert(
      fc.property(anySnapshot(), fc.integer({ min: 1, max: 3 }), (snapshot, limit) => {
        const index = new AccessIndex(snapshot);
        for (const principal of principals(snapshot)) {
          const whole = effectiveAccess(index, principal);
          expect([...whole].sort((a, b) => compareNodes(a.resource, b.resource))).toEqual(whole);
          const paged: typeof whole = [];
          for (let page = effectiveAccess(index, principal, { limit }); page.length > 0;) {
            paged.push(...page);
            page = effectiveAccess(index, principal, { limit, after: page.at(-1)?.resource ?? null });
          }
          expect(paged).toEqual(whole);
        }
      }),
      { numRuns: runs(15) },
    );
  });

  it('has a companion with a grant of its own that a restriction above it closes', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales.eu')
      .may('SELECT', 'sales.eu.orders$files')
      .may('SELECT', 'sales.eu.orders')
      .everyone()
      .seesOnly('sales.eu', "region = 'EU'")
      .snapshot();

    const entries = effectiveAccess(new AccessIndex(snapshot), { type: 'user', id: 1 });

    expect(entries.map(({ resource, access }) => [resource.table, access.privileges])).toEqual([
      [undefined, ['SELECT']],
      ['orders', ['SELECT']],
      ['orders$files', []],
    ]);
  });

  it('names the grants behind it: directly, through a group, inherited', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .user('ana')
      .may('INSERT', 'sales.eu.orders')
      .may('DELETE', 'sales.eu.orders')
      .everyone()
      .mayNot('sales', 'DELETE')
      .snapshot();

    const entries = effectiveAccess(new AccessIndex(snapshot), { type: 'user', id: 1 });

    expect(entries.map(({ resource, access }) => [resource, access.privileges])).toEqual([
      [{ catalog: 'sales' }, ['SELECT']],
      [{ catalog: 'sales', schema: 'eu', table: 'orders' }, ['SELECT', 'INSERT']],
    ]);
    expect(entries[1]?.origins.map(({ source, inheritedFrom }) => [source.id, inheritedFrom])).toEqual([
      [1, { catalog: 'sales' }],
      [2, null],
    ]);
  });
});

describe('everybody who may', () => {
  it('is effective access turned round', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        for (const resource of [...nodes(snapshot), { catalog: 'system', schema: 'metadata' }]) {
          // Others have something inside alone.
          const there = holders(index, { about: 'anything', resource }).filter(
            ({ access }) => access.privileges.length > 0,
          );
          const found = there.map(({ principal, access }) => [principalText(principal), access.privileges]);
          const expected = [...users(snapshot), ...engines(snapshot)].flatMap((principal) => {
            const { privileges } = intentAt(snapshot, principal, resource);
            return privileges.length === 0 ? [] : [[principalText(principal), privileges]];
          });
          expect(found.sort()).toEqual(expected.sort());
        }
      }),
    );
  });
});

describe('owners', () => {
  const snapshot = aSnapshot()
    .user('ana')
    .may('TABLE_OWNERSHIP', 'sales.eu.orders')
    .user('bob')
    .may('OWNERSHIP', 'sales.us')
    .user('eve')
    .may('TABLE_OWNERSHIP', 'sales')
    .may('SELECT', 'sales.eu.orders')
    .snapshot();
  const sales = { catalog: 'sales' };
  const orders = { ...sales, schema: 'eu', table: 'orders' };
  const owners = (question: HolderQuestion) =>
    holders(new AccessIndex(snapshot), question).map(({ principal, inside }) => [principal.name, inside]);

  it('of a schema own more than a table in it', () => {
    const inside = [{ resource: { ...sales, schema: 'us' }, privileges: ['OWNERSHIP'] }];
    expect(owners({ about: 'schema-ownership', resource: { ...sales, schema: 'eu' } })).toEqual([]);
    expect(owners({ about: 'schema-ownership', resource: sales })).toEqual([['bob', inside]]);
  });

  it('of all tables own no more inside', () => {
    expect(owners({ about: 'privilege', privilege: 'OWNERSHIP', resource: { ...sales, schema: 'eu' } })).toEqual([
      ['ana', [{ resource: orders, privileges: ['OWNERSHIP'] }]],
      ['eve', []],
    ]);
    expect(owners({ about: 'anything', resource: sales })).toContainEqual([
      'eve',
      [{ resource: orders, privileges: ['SELECT'] }],
    ]);
  });
});

describe('an explanation', () => {
  it('answers as the specification does', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        expect(explain(new AccessIndex(snapshot), principal, questionOf(snapshot, at)).allowed).toBe(
          answer(snapshot, principal, at),
        );
      }),
      { numRuns: runs(500) },
    );
  });

  it('names a policy wherever what is granted is taken', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        const question = questionOf(snapshot, at);
        const { allowed, grants, policies } = explain(new AccessIndex(snapshot), principal, question);
        if (!allowed && grants.length > 0) expect(policies).not.toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });

  it('has a smallest change that turns the answer round, and none of its steps is superfluous', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        const changes = smallestChange(new AccessIndex(snapshot), principal, questionOf(snapshot, at));
        if (changes === null) return;
        const before = answer(snapshot, principal, at);
        expect(answer(applyChanges(snapshot, changes), principal, at)).toBe(!before);
        const superfluous = changes.filter((one) => {
          const others = changes.filter((change) => change !== one);
          return answer(applyChanges(snapshot, others), principal, at) !== before;
        });
        expect(superfluous).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });

  it('finds a change wherever grants are open', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        const { catalog, schema } = at.resource;
        const { serviceAccounts, metadataCatalog } = snapshot.settings;
        const isService = principal.type === 'engine' && serviceAccounts.includes(principal.name);
        if (holderProblem([at.privilege], principal) !== null) return;
        // Nobody is given acting as who acts as others, or whose account is none; executing comes with any access.
        if (at.privilege === 'IMPERSONATE' || at.privilege === 'EXECUTE_QUERIES') return;
        if (isService || catalog === metadataCatalog || schema === 'information_schema') return;
        if (catalog === 'system' && schema !== undefined && !SYSTEM_SCHEMAS.includes(schema)) return;
        const changes = smallestChange(new AccessIndex(snapshot), principal, questionOf(snapshot, at));
        expect(changes?.length).toBeGreaterThan(0);
      }),
    );
  });

  it('names every policy that hides a column of the storage, and all of them are to be excepted from', () => {
    const snapshot = aSnapshot()
      .with({ rawColumnCatalogs: ['stream'] })
      .user('ana')
      .may('SELECT', 'hr.people')
      .may('SELECT', 'stream.topics')
      .everyone()
      .seesMasked('hr.people.staff', 'ssn', 'NULL')
      .seesMasked('hr.people.staff', '$path', 'NULL')
      .doesNotSee('hr.people', '$path')
      .seesMasked('stream.topics.orders', 'iban', 'NULL')
      .snapshot();
    const ana = { type: 'user', id: 1 } as const;
    const policiesFor = (name: string, column: string) => {
      const [catalog = '', schema = '', table = ''] = name.split('.');
      const question = questionOf(snapshot, { resource: { catalog, schema, table }, column, privilege: 'SELECT' });
      const index = new AccessIndex(snapshot);
      const steps = smallestChange(index, ana, question)?.map((step) => (step.kind === 'except' ? step.policy : step));
      return [explain(index, ana, question).policies.map(({ id }) => id), steps];
    };

    const all = [1, 2, 3];
    expect(policiesFor('hr.people.staff', '$path')).toEqual([all, all]);
    expect(policiesFor('hr.people.staff', '$bucket')).toEqual([all, all]);
    expect(policiesFor('hr.people.staff', 'name')).toEqual([[], expect.anything()]);
    expect(policiesFor('stream.topics.orders', '_key')).toEqual([[4], [4]]);
  });

  it('names only the policies that matter', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT, INSERT', 'sales')
      .everyone()
      .seesMasked('sales', 'id', "'wide'")
      .seesMasked('sales.eu.orders', 'id', "'near'")
      .mayNot('sales.eu', 'INSERT')
      .seesOnly('sales.eu', "region = 'EU'")
      .snapshot();
    const resource = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const why = (at: Omit<Asked, 'resource'>) => {
      const { allowed, policies } = explain(
        new AccessIndex(snapshot),
        { type: 'user', id: 1 },
        questionOf(snapshot, { resource, ...at }),
      );
      return [allowed, policies.map(({ id }) => id)];
    };

    expect(why({ privilege: 'SELECT' })).toEqual([true, [4, 2]]);
    expect(why({ privilege: 'SELECT', column: 'id' })).toEqual([true, [4, 2]]);
    expect(why({ privilege: 'SELECT', column: 'other' })).toEqual([true, [4]]);
    expect(why({ privilege: 'INSERT' })).toEqual([false, [1, 2, 3]]);
    expect(why({ privilege: 'UPDATE' })).toEqual([false, [1, 2, 4]]);
    expect(why({ privilege: 'DELETE' })).toEqual([false, [1, 2, 4]]);
  });
});
