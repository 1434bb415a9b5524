import fc from 'fast-check';
import { readLeniently } from '../../src/rules-files/check/lenient-reader.js';
import { type NamedGuarantees, testForeign } from '../../src/rules-files/foreign/foreign-guarantees.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import {
  breachesOf,
  type Guarantee,
  GUARANTEE_KINDS,
  type GuaranteeScope,
} from '../../src/trino-rules/model/guarantee.js';
import { isInTree, type Node, parentOf } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import { Principals } from '../../src/trino-rules/model/principals.js';
import { PRIVILEGE_TERMS, privilegesOn } from '../../src/trino-rules/model/privilege.js';
import { closedProblem } from '../../src/trino-rules/model/resource.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { runs } from '../support/landing.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';

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
  const nodes = reached.filter(({ as, queries }) => exists(as ?? queries ?? { type: 'everyone' }));
  const named = rows.map(({ principal }) => principal).filter(exists);
  const someone = fc.constantFrom<PolicyPrincipal>(...named, { type: 'everyone' });
  const scope = fc.constantFrom(...nodes).chain((resource): fc.Arbitrary<GuaranteeScope> => {
    const reading = isInTree(resource) && privilegesOn(resource).includes('SELECT');
    const choices = privilegesOn(resource).flatMap((each) => {
      const { parts } = PRIVILEGE_TERMS[each];
      return parts.length > 0 ? parts : [each];
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
      name: 'a sentence',
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
        const judged = testForeign(
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
});

function isOfEverybody({ principal, scopes }: Guarantee): boolean {
  const named = [principal, ...scopes.map(({ resource: { as, queries } }) => as ?? queries)];
  return named.some((each) => each?.type === 'everyone');
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
