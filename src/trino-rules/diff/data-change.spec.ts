import fc from 'fast-check';
import { runs } from '../../../test/support/landing.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../compile/compile.js';
import { decide } from '../model/decision.js';
import { Principals } from '../model/principals.js';
import type { Snapshot } from '../model/snapshot.js';
import { dataText } from '../opa/archive.js';
import { bundleData } from '../opa/bundle-data.js';
import { type ChangedAccess, compareAccess } from './access-change.js';
import { compareData } from './data-change.js';

const dataOf = (snapshot: Snapshot): string => dataText(bundleData(snapshot));
const PHRASES = { SELECT: 'SELECT from', INSERT: 'INSERT into' } as const;

describe('the change of access between the data of two bundles', () => {
  it('lists exactly the people for whom the decision differs, at every table that either names', () => {
    fc.assert(
      fc.property(anySnapshot(), anySnapshot(), (before, after) => {
        const { gained, lost } = compareData(dataOf(before), dataOf(after), {
          maxFacts: Infinity,
          maxPeople: Infinity,
        });
        const sides = [before, after].map((snapshot) => ({ snapshot, principals: new Principals(snapshot) }));
        const may = (name: string, resource: object, privilege: 'SELECT' | 'INSERT'): boolean[] =>
          sides.map(({ snapshot, principals }) => {
            const user = snapshot.users.find((each) => each.name === name);
            const asked = { about: 'privilege', resource, privilege } as const;
            return user !== undefined && decide(snapshot, { type: 'user', id: user.id }, asked, principals).allowed;
          });
        const names = new Set([...before.users, ...after.users].map(({ name }) => name));
        for (const { resource } of [...before.grants, ...before.policies, ...after.grants]) {
          const { catalog, schema, table } = resource;
          if (catalog === undefined || schema === undefined || table === undefined) continue;
          if (schema === 'information_schema' || catalog === 'system') continue;
          const above = [
            `${catalog}.${schema}`,
            `${catalog}.(any other schema)`,
            '(any other catalog).(any other schema)',
          ];
          const nodes = [
            `${catalog}.${schema}.${table}`,
            ...above.flatMap((each) => [`${each}.(any other table)`, `${each}.${table}`]),
          ];
          // A companion (`table$suffix`) that no grant names may be listed by a pattern of companions.
          const isAbout = (what: string, privilege: 'SELECT' | 'INSERT'): boolean =>
            nodes.some((node) => what === `${PHRASES[privilege]} ${node}`) ||
            (table.includes('$') && what.startsWith(`${PHRASES[privilege]} `) && what.includes('$'));
          for (const privilege of ['SELECT', 'INSERT'] as const)
            for (const name of names) {
              const isListed = (changes: readonly ChangedAccess[]): boolean =>
                changes.some(({ what, people }) => isAbout(what, privilege) && people.includes(name));
              const [had, has] = may(name, { catalog, schema, table }, privilege);
              if (had !== has) expect([name, nodes[0], isListed(has ? gained : lost)]).toEqual([name, nodes[0], true]);
            }
        }
      }),
      { numRuns: runs(60) },
    );
  });

  it('counts a grant, a mask and a member as the comparison of rules does', () => {
    const base = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
    const changes = [
      base().group('writers', ['bo']).may('INSERT', 'sales.eu.items'),
      base().seesMasked('sales.eu.orders', 'card', "'***'"),
      base().group('others', ['cy']).may('SELECT', 'sales.eu.orders'),
      aSnapshot().group('readers', ['ana']),
    ];
    for (const changed of changes) {
      const [before, after] = [base().snapshot(), changed.snapshot()];
      const byRules = compareAccess(compile(before).document, compile(after).document);
      const byData = compareData(dataOf(before), dataOf(after));
      const { gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs } = byRules;
      expect(byData).toMatchObject({ gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs });
      const sorted = (list: readonly ChangedAccess[]) => list.map((each) => JSON.stringify(each)).sort();
      expect([byData.gained, byData.lost].map(sorted)).toEqual([byRules.gained, byRules.lost].map(sorted));
    }
  });

  it('finds no change between equal data, and counts a text that is no data as nothing', () => {
    const data = dataOf(aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot());
    expect(compareData(data, data)).toMatchObject({ gainedInAll: 0, lostInAll: 0, changedPairs: 0 });
    const { gainedInAll, lost } = compareData(data, '{}');
    expect(gainedInAll).toBe(0);
    expect(lost).toContainEqual({ what: 'SELECT from sales.eu.orders', people: ['ana'], others: 0 });
  });
});
