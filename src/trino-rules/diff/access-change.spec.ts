import fc from 'fast-check';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { compile } from '../compile/compile.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { Snapshot } from '../model/snapshot.js';
import { compareAccess } from './access-change.js';

describe('the change of access', () => {
  it('is empty between equal rules', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const { document } = compile(snapshot);
        expect(compareAccess(document, document)).toMatchObject({ gained: [], lost: [], changedPairs: 0 });
      }),
      { numRuns: 40 },
    );
  });

  it('is found behind an open pattern, also where a narrower one closes the fresh name', () => {
    const before = compile(story()).document;
    const closed = { schema: 'f.*', privileges: [] };
    const open = { user: 'a.*', table: 's.*', privileges: ['SELECT' as const] };
    const after = { ...before, catalogs: [{ allow: 'read-only' as const }], tables: [closed, open] };
    const whats = compareAccess(before, after, { maxFacts: 1_000, maxPeople: 10 }).gained.map(({ what }) => what);
    expect(whats).toContainEqual(expect.stringMatching(/^SELECT from \(any other catalog\)[.]/));
  });

  it('is what a new grant gives, and gone again with it', () => {
    const after = story((builder) => builder.user('cy').may('INSERT', 'sales.eu.orders'));
    const gained = [
      { what: 'execute queries', people: ['cy'], others: 0 },
      { what: 'impersonate cy', people: ['service-account-grantline'], others: 0 },
      { what: 'enter the catalog sales', people: ['cy'], others: 0 },
      { what: 'INSERT into sales.eu.orders', people: ['cy'], others: 0 },
      { what: 'SELECT from system.jdbc.(any other table)', people: ['cy'], others: 0 },
      { what: 'SELECT from system.metadata.(any other table)', people: ['cy'], others: 0 },
      { what: 'enter the catalog system', people: ['cy'], others: 0 },
    ];
    const change = compared(story(), after);
    expect(change).toMatchObject({ lost: [], changedPairs: 7, peopleGaining: 1, peopleLosing: 0 });
    expect(new Set(change.gained)).toEqual(new Set(gained));
    expect(compared(after, story())).toMatchObject({
      gained: [],
      lost: change.gained,
      changedPairs: 7,
      allPairs: change.allPairs,
    });
  });

  it.each<[string, (builder: Builder) => Snapshot, ...string[]]>([
    ['a filter', without('row_filter'), "not: may SELECT only those rows of sales.eu.orders for which (region = 'EU')"],
    ['a mask', without('column_mask'), 'not: may SELECT the column card of sales.eu.orders only as NULL'],
    ['a hidden column', without('hidden_column'), 'not: may not SELECT the column email of sales.eu.orders'],
    ['a deny', without('deny'), 'SELECT from sales.eu.salaries', 'SELECT from sales.eu.salaries$…'],
  ])('counts as gained what %s kept back', (_name, after, ...whats) => {
    const changedPairs = 2 * whats.length;
    const gained = whats.map((what) => ({ what, people: ['ana', 'bo'], others: 0 }));
    expect(compared(story(), after(readers()))).toMatchObject({
      gained,
      lost: [],
      changedPairs,
      peopleGaining: 2,
      peopleLosing: 0,
    });
    expect(compared(after(readers()), story())).toMatchObject({
      lost: gained,
      changedPairs,
      peopleGaining: 0,
      peopleLosing: 2,
    });
  });

  it('loses with one more filter, and gains nothing by a column that is hidden instead of masked', () => {
    const more = story((builder) =>
      builder.everyone().seesOnly('sales.eu.orders', 'open').doesNotSee('sales.eu.orders', 'card'),
    );
    const whats = [
      'not: may SELECT only those rows of sales.eu.orders for which (open)',
      'not: may not SELECT the column card of sales.eu.orders',
    ];
    const lost = whats.map((what) => ({ what, people: ['ana', 'bo'], others: 0 }));
    expect(compared(story(), more)).toMatchObject({ gained: [], lost });
    expect(compared(more, story())).toMatchObject({ gained: lost, lost: [] });
  });

  it('lists the first changes, and counts all of them', () => {
    const { gained, gainedInAll } = compareAccess(document(empty()), document(story()), { maxFacts: 2, maxPeople: 1 });
    expect(gained).toEqual([
      { what: 'SELECT from sales.eu.(any other table)', people: ['ana'], others: 1 },
      { what: 'SELECT from sales.eu.orders', people: ['ana'], others: 1 },
    ]);
    expect(gainedInAll).toBe(9);
  });

  it('counts pairs of users and nodes on named tables, and one for all others of a schema', () => {
    // ana and bo: orders, any other table of eu, the catalog, system twice and its catalog, queries; and they are impersonated.
    const readers = 2 * (2 + 1 + 3 + 1) + 2;
    const { allPairs } = compared(story(), story());
    expect(allPairs - compared(empty(), empty()).allPairs).toBe(readers);
  });
});

type Builder = ReturnType<typeof aSnapshot>;

function readers(): Builder {
  return aSnapshot()
    .group('readers', ['ana', 'bo'])
    .may('SELECT', 'sales.eu')
    .seesOnly('sales.eu.orders', "region = 'EU'")
    .seesMasked('sales.eu.orders', 'card', 'NULL')
    .doesNotSee('sales.eu.orders', 'email')
    .mayNot('sales.eu.salaries');
}

function story(more: (builder: Builder) => Builder = (builder) => builder): Snapshot {
  return more(readers()).snapshot();
}

function empty(): Snapshot {
  return aSnapshot().snapshot();
}

function without(kind: string): (builder: Builder) => Snapshot {
  return (builder) => {
    const snapshot = builder.snapshot();
    return { ...snapshot, policies: snapshot.policies.filter((policy) => policy.kind !== kind) };
  };
}

function compared(previous: Snapshot, next: Snapshot) {
  return compareAccess(document(previous), document(next));
}

function document(snapshot: Snapshot): RulesDocument {
  return compile(snapshot).document;
}
