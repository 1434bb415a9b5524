import { accessLines } from './access-text.js';

describe('changes of access as text', () => {
  it('words a restriction by its direction, and counts what the lists leave out', () => {
    const changed = { what: 'not: may not SELECT the column card of a.b.c', people: ['ana'], others: 2 };
    const counts = { people_gaining: 3, people_losing: 3, changed_pairs: 6, all_pairs: 9 };

    expect(accessLines({ gained: [changed], gained_in_all: 1, lost: [changed], lost_in_all: 3, ...counts })).toEqual([
      'gained by ana (+2): no longer: may not SELECT the column card of a.b.c',
      'lost by ana (+2): now: may not SELECT the column card of a.b.c',
      'lost: 2 more things',
    ]);
  });
});
