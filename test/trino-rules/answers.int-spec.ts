import fc from 'fast-check';
import { anySnapshotWithGrantsToEveryone } from '../support/snapshots/any-snapshot.js';
import { applyChanges } from '../support/snapshots/apply-changes.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { decide } from '../../src/trino-rules/model/decision.js';
import { intentAt } from '../../src/trino-rules/model/intent.js';
import { compareNodes, covers, nodeOf } from '../../src/trino-rules/model/node.js';
import { type Principal, principalText } from '../../src/trino-rules/model/principal.js';
import { QUERY_RIGHTS } from '../../src/trino-rules/document/rules-document.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege } from '../../src/trino-rules/model/privilege.js';
import type { RightQuestion } from '../../src/trino-rules/model/question.js';
import type { Resource } from '../../src/trino-rules/model/resource.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { effectiveAccess, isSameAccess } from '../../src/trino-rules/answers/effective-access.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { holders } from '../../src/trino-rules/answers/holders.js';
import { traceRules } from '../../src/trino-rules/answers/rule-trace.js';
import { smallestChange } from '../../src/trino-rules/answers/smallest-change.js';

const users = ({ users }: Snapshot): Principal[] => users.map(({ id }) => ({ type: 'user', id }));
const groups = ({ groups }: Snapshot): Principal[] => groups.map(({ id }) => ({ type: 'group', id }));
const engines = ({ grants, settings }: Snapshot): Principal[] => {
  const named = grants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal.name] : []));
  return [...new Set([...named, ...settings.serviceAccounts])].map((name) => ({ type: 'engine', name }));
};
const principals = (snapshot: Snapshot): Principal[] => [...users(snapshot), ...groups(snapshot), ...engines(snapshot)];

/** Every named node, one unnamed below each, and the catalogs that only settings name. */
const nodes = ({ grants, policies, settings }: Snapshot): Resource[] => {
  const named = [...grants, ...policies].flatMap(({ resource: { catalog, schema, table } }): Resource[] => [
    ...[nodeOf({ catalog }), nodeOf({ catalog, schema }), nodeOf({ catalog, schema, table })],
    { catalog, schema: 'any' },
    ...(schema === undefined ? [] : [{ catalog, schema, table: 'any' }]),
  ]);
  const catalogs = [...settings.writableCatalogs, ...settings.readableCatalogs];
  const all = [...named, ...catalogs.map((catalog) => ({ catalog }))];
  return [...new Map(all.map((node) => [JSON.stringify(node), node])).values()];
};
interface Asked {
  resource: Resource;
  column?: string | undefined;
  privilege: Privilege;
}

const questionOf = ({ resource, column, privilege }: Asked) => PRIVILEGE_TERMS[privilege].asks(resource, column);
const anyAsked = (snapshot: Snapshot): fc.Arbitrary<Asked> =>
  fc.record({
    resource: fc.constantFrom(...nodes(snapshot), { catalog: 'system', schema: 'jdbc', table: 'tables' }),
    column: fc.constantFrom(undefined, 'id', 'i', 'größe'),
    privilege: fc.constantFrom(...PRIVILEGES),
  });
const asked = anySnapshotWithGrantsToEveryone().chain((snapshot) =>
  fc.record({
    snapshot: fc.constant(snapshot),
    principal: fc.constantFrom(...principals(snapshot)),
    at: anyAsked(snapshot),
  }),
);
/** What is no data: one of each kind, and every user to become. */
const rights = ({ users, settings }: Snapshot): RightQuestion[] => [
  ...QUERY_RIGHTS.map((right) => ({ about: 'queries', right }) as const),
  ...users.map(({ name }) => ({ about: 'impersonation', newUser: name }) as const),
  ...['sales', 'system', ...settings.writableCatalogs, ...settings.readableCatalogs].flatMap((catalog) => [
    { about: 'session-property', property: 'p', catalog } as const,
    { about: 'catalog-mode', resource: { catalog }, mode: 'all' } as const,
    { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' } as const,
  ]),
  ...['p', ...settings.sessionProperties].map(
    (property) => ({ about: 'session-property', property, catalog: null }) as const,
  ),
  ...(['function', 'procedure'] as const).map(
    (kind) =>
      ({
        about: 'routine',
        kind,
        resource: { catalog: 'sales', schema: 'system' },
        name: 'query',
        privilege: 'EXECUTE',
      }) as const,
  ),
];
const NOTHING = { privileges: [], filters: [], hidden: [], masks: [], conflicts: [] };
const answer = (snapshot: Snapshot, principal: Principal, at: Asked): boolean =>
  decide(snapshot, principal, questionOf(at)).allowed;

describe('effective access', () => {
  it('holds at its node and below it, down to the next entry', () => {
    fc.assert(
      fc.property(anySnapshotWithGrantsToEveryone(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        const wrong = principals(snapshot).flatMap((principal) => {
          const entries = effectiveAccess(index, principal);
          return nodes(snapshot).flatMap((node) => {
            const nearest = entries.filter(({ resource }) => covers(resource, node)).at(-1)?.access ?? NOTHING;
            const intended = intentAt(snapshot, principal, node);
            return node.catalog === 'system' || isSameAccess(nearest, intended)
              ? []
              : [{ principal, node, nearest, intended }];
          });
        });
        expect(wrong).toEqual([]);
      }),
    );
  });

  it('comes in pages, by name', () => {
    fc.assert(
      fc.property(anySnapshotWithGrantsToEveryone(), fc.integer({ min: 1, max: 3 }), (snapshot, limit) => {
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
      { numRuns: 15 },
    );
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
      fc.property(anySnapshotWithGrantsToEveryone(), (snapshot) => {
        const index = new AccessIndex(snapshot);
        for (const resource of [...nodes(snapshot), { catalog: 'system', schema: 'metadata' }]) {
          const found = holders(index, { about: 'anything', resource }).map(({ principal, access }) => [
            principalText(principal),
            access.privileges,
          ]);
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

describe('an explanation', () => {
  it('answers as the specification does', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        expect(explain(new AccessIndex(snapshot), principal, questionOf(at)).allowed).toBe(
          answer(snapshot, principal, at),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('has a smallest change that turns the answer round, and none of its steps is superfluous', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        const changes = smallestChange(new AccessIndex(snapshot), principal, questionOf(at));
        if (changes === null) return;
        const before = answer(snapshot, principal, at);
        expect(answer(applyChanges(snapshot, changes), principal, at)).toBe(!before);
        const superfluous = changes.filter((one) => {
          const others = changes.filter((change) => change !== one);
          return answer(applyChanges(snapshot, others), principal, at) !== before;
        });
        expect(superfluous).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('finds a change wherever grants are open', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        const { catalog, schema } = at.resource;
        const { serviceAccounts, metadataCatalog } = snapshot.settings;
        const isService = principal.type === 'engine' && serviceAccounts.includes(principal.name);
        if (isService || catalog === 'system' || catalog === metadataCatalog || schema === 'information_schema') return;
        expect(smallestChange(new AccessIndex(snapshot), principal, questionOf(at))?.length).toBeGreaterThan(0);
      }),
    );
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
        questionOf({ resource, ...at }),
      );
      return [allowed, policies.map(({ id }) => id)];
    };

    expect(why({ privilege: 'SELECT' })).toEqual([true, [4, 2]]);
    expect(why({ privilege: 'SELECT', column: 'id' })).toEqual([true, [4, 2]]);
    expect(why({ privilege: 'SELECT', column: 'other' })).toEqual([true, [4]]);
    expect(why({ privilege: 'INSERT' })).toEqual([false, [3]]);
    expect(why({ privilege: 'DELETE' })).toEqual([false, []]);
  });
});

const nameOf = ({ users }: Snapshot, principal: Exclude<Principal, { type: 'group' }>): string =>
  principal.type === 'engine' ? principal.name : (users.find(({ id }) => id === principal.id)?.name ?? '');

describe('rights besides data', () => {
  it('are explained, traced and held as the specification says', () => {
    fc.assert(
      fc.property(anySnapshotWithGrantsToEveryone(), (snapshot) => {
        const { document, findings } = compile(snapshot);
        if (findings.some(({ severity }) => severity === 'error')) return;
        const evaluator = new Evaluator(document);
        const index = new AccessIndex(snapshot);
        for (const right of rights(snapshot)) {
          const allowed = [...users(snapshot), ...engines(snapshot)].filter((principal) => {
            const decided = decide(snapshot, principal, right).allowed;
            expect(explain(index, principal, right).allowed).toBe(decided);
            return decided;
          });
          const traced = [...users(snapshot), ...engines(snapshot)].filter((principal) => {
            const name = principal.type === 'group' ? '' : nameOf(snapshot, principal);
            return traceRules(evaluator, name, right).allowed;
          });
          expect(traced.map(principalText)).toEqual(allowed.map(principalText));
          const found = holders(index, right).map(({ principal }) => principalText(principal));
          expect(found.sort()).toEqual(allowed.map(principalText).sort());
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('the trace of a question through the rules', () => {
  it('ends in the answer that the grants mean', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        if (principal.type === 'group' || at.resource.schema === 'information_schema') return;
        const name = nameOf(snapshot, principal);
        const { document, findings } = compile(snapshot);
        if (findings.some(({ severity }) => severity === 'error')) return;
        const { allowed, rule, considered } = traceRules(new Evaluator(document), name, questionOf(at));
        expect(allowed).toBe(answer(snapshot, principal, at));
        if (rule !== null) {
          const later = considered.filter(({ section, index }) => section === rule.section && index >= rule.index);
          expect(later).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
  });
});
