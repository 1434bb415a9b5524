import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { effectiveSnapshot } from '../model/effective-snapshot.js';
import type { Snapshot } from '../model/snapshot.js';
import { bundleData } from './bundle-data.js';
import { dataText } from './archive.js';

const LATER = new Date(NOW.getTime() + 60_000);

describe("a bundle's data", () => {
  it('holds the grants of each principal by full paths, united at each node', () => {
    const data = dataOf(
      aSnapshot()
        .group('readers', ['ana', 'bo'])
        .may('SELECT', 'sales')
        .may('SELECT, INSERT', 'sales.eu.orders')
        .may('GRANT_SELECT', 'sales.eu.orders')
        .user('ana')
        .may('OWNERSHIP', 'sales.eu')
        .everyone()
        .may('EXECUTE_FUNCTION', 'sales.eu.area()')
        .snapshot(),
    );

    expect(data.grants).toEqual({
      g1: { sales: { '': { '': 'S' }, eu: { orders: 'SIG' } } },
      uana: { sales: { eu: { '': 'OT' } } },
      '*': { sales: { eu: { '\tarea': 'F' } } },
    });
    expect(data.users).toMatchObject({ ana: { k: ['uana', 'g1', '*'] }, bo: { k: ['ubo', 'g1', '*'] } });
  });

  it('holds a right that lapses with its moment, the later one of two', () => {
    const data = dataOf(
      aSnapshot()
        .engine('etl')
        .may('SELECT, INSERT', 'sales.eu', { expiresAt: LATER })
        .may('SELECT', 'sales.eu', { expiresAt: new Date(NOW.getTime() + 1) })
        .may('DELETE', 'sales.eu', { expiresAt: NOW })
        .snapshot(),
    );

    const ends = { S: LATER.getTime(), I: LATER.getTime() };
    expect(data.grants).toEqual({ uetl: { sales: { eu: { '': ['', ends] } } } });
    expect(data.below).toMatchObject({ uetl: { '': { '': { l: ['', ends] } } } });
    expect(data.users).toMatchObject({ etl: { k: ['uetl'], e: true, u: LATER.getTime() } });
  });

  it('tells what grants give below a node, and where a policy lies between', () => {
    const data = dataOf(
      aSnapshot()
        .user('ana')
        .may('SELECT', 'sales.eu.orders')
        .may('INSERT', 'sales.us.orders')
        .mayNot('sales.us', 'INSERT')
        .snapshot(),
    );

    expect(data.below).toEqual({
      uana: {
        '': { '': { l: 'S', n: ['sales'] } },
        sales: { '': { l: 'S', n: ['us'] }, eu: { l: 'S' }, us: { l: 'I' } },
      },
    });
  });

  it('marks names that a rules file cannot hold, where one stands beside', () => {
    const people = aSnapshot().user('x$y').may('SELECT', 'sales').engine('e[]').may('SELECT', 'sales');
    const marked = (snapshot: Snapshot) =>
      Object.entries(dataOf(snapshot).users).flatMap(([name, user]) => ('z' in user ? [name] : []));
    expect(marked(people.snapshot())).toEqual(['e[]', 'x$y']);
    expect(marked(people.with({ rulesFile: false }).snapshot())).toEqual([]);
  });

  it('holds policies with what they take, at their nodes and around', () => {
    const bo = { type: 'user', id: 2 } as const;
    const data = dataOf(
      aSnapshot()
        .group('readers', ['ana', 'bo'])
        .seesOnly('sales.eu.orders', "region = 'EU'", bo)
        .doesNotSee('sales', 'ssn')
        .with({ externalTableCatalogs: ['sales'] })
        .snapshot(),
    );

    const x = { ubo: true };
    expect(data.policies).toEqual({
      sales: {
        '': {
          '': { g1: [{ k: 'h', c: 'ssn', l: 'OT', r: true }] },
          '\n': {
            g1: [
              { l: 'OTFHP', r: true, x },
              { l: 'OTFHP', r: true },
            ],
          },
        },
        eu: {
          orders: { g1: [{ k: 'f', e: "region = 'EU'", l: 'UDOT', r: true, x }] },
          '\n': { g1: [{ l: 'O', x }] },
        },
      },
    });
  });

  it('holds rights over the engine, over queries and to become others', () => {
    const data = dataOf(
      aSnapshot()
        .group('readers', ['ana'])
        .deactivated('ben')
        .user('cy')
        .may('KILL_QUERIES', { queries: { type: 'group', id: 1 } })
        .mayNot({ engine: true }, 'VIEW_QUERIES')
        .engine('superset')
        .may('IMPERSONATE', { as: { type: 'everyone' } })
        .snapshot(),
    );

    expect(data.over).toEqual({
      grants: { ucy: { g1: 'K' }, usuperset: { '*': 'A' } },
      denies: { ucy: { '': [{ l: 'V' }] } },
      members: { g1: ['ana'] },
    });
    expect(data.users).toMatchObject({ ben: { o: ['uben', '*'] }, superset: { e: true, i: 8.64e15 } });
  });

  it('follows from what has effect alone, in any order', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const { grants, policies, ...rest } = effectiveSnapshot(snapshot);
        const others = { ...rest, grants: grants.toReversed(), policies };
        expect(dataText(bundleData(others))).toBe(dataText(bundleData(snapshot)));
      }),
      { numRuns: 100 },
    );
  });
});

function dataOf(snapshot: Snapshot): Record<'grants' | 'below' | 'users' | 'policies' | 'over', object> {
  return (JSON.parse(dataText(bundleData(snapshot))) as { access: ReturnType<typeof dataOf> }).access;
}
