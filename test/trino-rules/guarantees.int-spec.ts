import fc from 'fast-check';
import { readLeniently } from '../../src/rules-files/check/lenient-reader.js';
import { type NamedGuarantees, testForeignGuarantees } from '../../src/rules-files/foreign/foreign-guarantees.js';
import { patternOfNames } from '../../src/trino-rules/compile/name-pattern.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { type Guarantee, GUARANTEE_KINDS, type GuaranteeScope } from '../../src/trino-rules/model/guarantee.js';
import { isInTree, type Node, parentOf } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import { Principals } from '../../src/trino-rules/model/principals.js';
import { holderProblem, PRIVILEGE_TERMS, privilegesOn } from '../../src/trino-rules/model/privilege.js';
import { closedProblem } from '../../src/trino-rules/model/resource.js';
import { dataText } from '../../src/trino-rules/opa/archive.js';
import { bundleData } from '../../src/trino-rules/opa/bundle-data.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { judgeBundle } from '../../src/trino-rules/verify/bundle-proof.js';
import { checkBudget, judgeRules } from '../../src/trino-rules/verify/check.js';
import { isLanding, runs } from '../support/landing.js';
import { breachesOf } from '../support/rules/guarantee-breaches.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';

/** Near what the world gives: nodes of its rows and above, and the principals of its rows. */
function anyGuarantee(snapshot: Snapshot): fc.Arbitrary<Guarantee> {
  const { grants, policies, settings, users, groups } = snapshot;
  const rows = [...grants, ...policies];
  const above = (node: Node): Node[] => {
    const parent = isInTree(node) ? parentOf(node) : null;
    return parent === null ? [node] : [node, ...above(parent)];
  };
  const open = (node: Node): boolean =>
    closedProblem(node, settings.metadataCatalog) === null && privilegesOn(node).length > 0;
  const exists = (principal: PolicyPrincipal): boolean => {
    if (principal.type === 'user') return users.some(({ id, isActive }) => id === principal.id && isActive);
    if (principal.type === 'group') return groups.some(({ id }) => id === principal.id);
    return principal.type !== 'engine' || !settings.serviceAccounts.includes(principal.name);
  };
  const reached = [
    {},
    ...rows.flatMap(({ resource: { column: _, ...node } }: { resource: Node & { column?: string } }) => above(node)),
  ].filter(open);
  const isOwner = (principal: PolicyPrincipal): boolean =>
    exists(principal) || (principal.type === 'user' && users.some(({ id }) => id === principal.id));
  const nodes = reached.filter(({ as, queries }) => (as === undefined || exists(as)) && (!queries || isOwner(queries)));
  const named = rows.map(({ principal }) => principal).filter(exists);
  const someone = fc.constantFrom<PolicyPrincipal>(...named, { type: 'everyone' });
  const scope = fc.constantFrom(...nodes).chain((resource): fc.Arbitrary<GuaranteeScope> => {
    const reading = isInTree(resource) && privilegesOn(resource).includes('SELECT');
    const choices = privilegesOn(resource).flatMap((each) => {
      const { components } = PRIVILEGE_TERMS[each];
      return components.length > 0 ? components : [each];
    });
    const plain = fc
      .subarray([...new Set(choices)], { minLength: 1 })
      .map((privileges) => ({ resource, privileges, isUnfiltered: false }));
    if (!reading) return plain;
    const select = { resource, privileges: ['SELECT'] as const };
    const refined = fc.oneof(
      fc.constant({ ...select, isUnfiltered: true }),
      fc.constantFrom('id', 'e-mail').map((column) => ({ ...select, column, isUnfiltered: false })),
    );
    return fc.oneof({ weight: 2, arbitrary: plain }, refined);
  });
  return fc
    .record({
      kind: fc.constantFrom(...GUARANTEE_KINDS),
      principal: someone,
      except: fc.array(someone, { maxLength: 2 }),
      one: scope,
      other: scope,
      count: fc.integer({ min: 1, max: 4 }),
    })
    .map(({ kind, principal, except, one, other, count }) => ({
      id: 1,
      name: 'a sentence',
      mode: 'enforced' as const,
      kind,
      principal: kind === 'only' ? { type: 'everyone' as const } : principal,
      except: kind === 'always' ? [] : except.filter(({ type }) => type !== 'everyone'),
      scopes: kind === 'apart' ? [one, other] : [one],
      count: kind === 'at_most' ? count : 0,
    }));
}

const anyWorld = anySnapshot().chain((snapshot) =>
  fc.record({
    snapshot: fc.constant(snapshot),
    guarantees: fc.array(anyGuarantee(snapshot), { minLength: 8, maxLength: 8 }),
  }),
);

describe('a guarantee', () => {
  it('is judged by a document as by the grants that it was compiled from', () => {
    const verdicts = { holds: 0, broken: 0 };
    fc.assert(
      fc.property(anyWorld, ({ snapshot, guarantees }) => {
        const { rules } = readLeniently(compile(snapshot).text);
        if (rules === null) throw new Error('no rules');
        const judged = testForeignGuarantees(
          rules,
          named(snapshot, guarantees),
          listed(snapshot),
          snapshot.settings,
          new WorkBudget(),
        );
        if (judged.kind !== 'judged') throw new Error(JSON.stringify(judged.problems));
        for (const [i, guarantee] of guarantees.entries()) {
          // In a file, everyone is also somebody whom nothing names.
          if (guarantee.kind === 'always' && isOfEverybody(guarantee)) continue;
          if (isAboutDeactivated(snapshot, guarantee)) continue;
          const breaches = breachesOf(snapshot, guarantee);
          const { isBroken = false, brokenBy = 0, breaches: found = [] } = judged.verdicts[i] ?? {};
          verdicts[isBroken ? 'broken' : 'holds']++;
          expect({ guarantee, isBroken }).toEqual({ guarantee, isBroken: breaches.length > 0 });
          const people = [...new Set(breaches.map(({ principal }) => principal.name))].sort();
          if (brokenBy <= 20) expect([...new Set(found.map(({ person }) => person))].sort()).toEqual(people);
        }
      }),
      { numRuns: runs(400) },
    );
    expect(Math.min(verdicts.holds, verdicts.broken)).toBeGreaterThan(100);
  });

  it('is judged while the document is proved as by the grants', () => {
    const verdicts = { holds: 0, broken: 0 };
    fc.assert(
      fc.property(anyWorld, ({ snapshot, guarantees: drawn }) => {
        const guarantees = drawn.map((guarantee, i) => ({ ...guarantee, id: i + 1 }));
        const { verdicts: judged } = judgeRules(compile(snapshot).text, { ...snapshot, guarantees });
        for (const guarantee of guarantees) {
          const breaches = breachesOf(snapshot, guarantee);
          const verdict = judged.find(({ id }) => id === guarantee.id);
          const { isBroken, witnesses = [] } = verdict ?? {};
          verdicts[isBroken === true ? 'broken' : 'holds']++;
          expect({ guarantee, isBroken }).toEqual({ guarantee, isBroken: breaches.length > 0 });
          const people = new Set(breaches.map(({ principal }) => principal.name));
          const found = new Set(witnesses.map(({ principal }) => principal.name));
          if (witnesses.length < 20) expect([...found].sort()).toEqual([...people].sort());
          else for (const name of found) expect(people).toContain(name);
        }
      }),
      { numRuns: runs(400) },
    );
    expect(Math.min(verdicts.holds, verdicts.broken)).toBeGreaterThan(100);
  });
});

it('about the queries of some is about those of deactivated accounts, too, which may still run', () => {
  const world = aSnapshot().user('ana').user('zoë').deactivated('zoë');
  const queries = { type: 'everyone' } as const;
  const snapshot = world.everyone().may('KILL_QUERIES', { queries }).snapshot();
  const guarantee: Guarantee = {
    ...{ id: 1, name: 'a sentence', kind: 'never', mode: 'enforced', count: 0, principal: queries, except: [] },
    scopes: [{ resource: { queries }, privileges: ['KILL_QUERIES'], isUnfiltered: false }],
  };
  const judged = { ...snapshot, guarantees: [guarantee] };
  const results = [judgeRules(compile(snapshot).text, judged), judgeBundle(dataText(bundleData(snapshot)), judged)];

  for (const { verdicts } of results)
    expect(verdicts[0]?.witnesses.map(({ message }) => message)).toEqual([
      'ana may kill queries of zoë by grant 1: revoke it',
    ]);
});

it('about the queries of some have a budget for each owner', () => {
  const users = Array.from({ length: 1_000 }, (_, i) => ({ id: i + 1, name: `person ${i}`, isActive: true }));
  const snapshot = { ...aSnapshot().snapshot(), users };
  const about = (resource: Node): Snapshot => ({
    ...snapshot,
    guarantees: [
      {
        ...{ id: 1, name: 'a sentence', kind: 'never', mode: 'enforced', count: 0 },
        ...{ principal: { type: 'everyone' }, except: [] },
        scopes: [{ resource, privileges: ['VIEW_QUERIES'], isUnfiltered: false }],
      },
    ],
  });
  const left = (of: Snapshot): boolean => checkBudget('', of).canAfford(152_000_000);

  expect(left(about({ engine: true }))).toBe(false);
  expect(left(about({ queries: { type: 'everyone' } }))).toBe(true);
});

const TABLE_PRIVILEGES = ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'];

/** What a compiler that is wrong could write: the first rule gives a principal everything in a scope. */
function withFault(text: string, user: string, { catalog, schema, table }: Node): string {
  const rules = JSON.parse(text) as Record<'catalogs' | 'tables', object[]>;
  const named = Object.fromEntries(
    Object.entries({ catalog, schema, table }).flatMap(([level, name]) =>
      name ? [[level, patternOfNames([name])]] : [],
    ),
  );
  rules.catalogs.unshift({
    user: patternOfNames([user]),
    ...(catalog ? { catalog: patternOfNames([catalog]) } : {}),
    allow: 'all',
  });
  rules.tables.unshift({ user: patternOfNames([user]), ...named, privileges: TABLE_PRIVILEGES });
  return JSON.stringify(rules);
}

describe('a planted breach', () => {
  it('is found, whatever makes it: a grant, a member, a policy that ends, an activation, or the compiler', () => {
    const planted = { grant: 0, member: 0, policy: 0, activation: 0, compiler: 0 };
    const isBroken = (text: string, snapshot: Snapshot, guarantee: Guarantee) =>
      judgeRules(text, { ...snapshot, guarantees: [guarantee] }).verdicts[0]?.isBroken;
    fc.assert(
      fc.property(anyWorld, ({ snapshot, guarantees }) => {
        const asleep = { ...snapshot, users: snapshot.users.map((each) => ({ ...each, isActive: false })) };
        for (const guarantee of guarantees) {
          const { principal, except, scopes } = guarantee;
          const plant = (how: keyof typeof planted, changed: Snapshot): void => {
            if (breachesOf(changed, guarantee).length === 0) return;
            planted[how] += 1;
            const found = isBroken(compile(changed).text, changed, guarantee);
            expect({ how, guarantee, found }).toEqual({ how, guarantee, found: true });
          };
          if (breachesOf(asleep, guarantee).length === 0) plant('activation', snapshot);
          if (breachesOf(snapshot, guarantee).length > 0) continue;
          const grants = scopes.map(({ resource, privileges }, i) => ({
            ...{ id: 10_000 + i, principal, resource, privileges, expiresAt: null, revokedAt: null },
          }));
          const possible = grants.filter(({ privileges }) => holderProblem(privileges, principal) === null);
          plant('grant', { ...snapshot, grants: [...snapshot.grants, ...possible] });
          const everybody = snapshot.users.map(({ id }) => id);
          plant('member', {
            ...snapshot,
            groups: snapshot.groups.map((group) => ({ ...group, members: everybody })),
          });
          plant('policy', { ...snapshot, policies: [] });
          const { resource = {}, privileges = [] } = scopes[0] ?? {};
          const people = new Principals(snapshot);
          const isExcepted = (text: string) => except.some((each) => people.members(each).has(text));
          const counted = [...people.members(principal)].find(([text]) => !isExcepted(text));
          const isAboutTables = isInTree(resource) && resource.catalog !== 'system' && privileges.includes('SELECT');
          if (counted === undefined || !isAboutTables || (guarantee.kind !== 'never' && guarantee.kind !== 'only'))
            continue;
          planted.compiler += 1;
          const text = withFault(compile(snapshot).text, counted[1].name, resource);
          expect({ guarantee, isBroken: isBroken(text, snapshot, guarantee) }).toEqual({ guarantee, isBroken: true });
        }
      }),
      { numRuns: runs(360) },
    );
    for (const count of Object.values(planted)) expect(count).toBeGreaterThan(0);
    const all = Object.values(planted).reduce((sum, each) => sum + each, 0);
    expect(all).toBeGreaterThanOrEqual(isLanding ? 100 : 1_000);
  });
});

function isOfEverybody({ principal, scopes }: Guarantee): boolean {
  const named = [principal, ...scopes.map(({ resource: { as, queries } }) => as ?? queries)];
  return named.some((each) => each?.type === 'everyone');
}

/** A file does not tell who is deactivated, and of whom queries may still run. */
function isAboutDeactivated(snapshot: Snapshot, { scopes }: Guarantee): boolean {
  const principals = new Principals(snapshot);
  return scopes.some(
    ({ resource: { queries } }) => queries && principals.owners(queries).size > principals.members(queries).size,
  );
}

function named({ users, groups }: Snapshot, guarantees: Guarantee[]): NamedGuarantees {
  return {
    guarantees,
    users: new Map(users.map(({ id, name }) => [id, name])),
    groups: new Map(groups.map(({ id, name }) => [id, name])),
  };
}

function listed(snapshot: Snapshot) {
  const principals = new Principals(snapshot);
  const groupsOf = (text: string): string[] =>
    snapshot.groups.filter(({ id }) => principals.members({ type: 'group', id }).has(text)).map(({ name }) => name);
  return [...principals.members({ type: 'everyone' })].map(([text, { name }]) => ({ name, groups: groupsOf(text) }));
}
