import fc from 'fast-check';
import { Bitset } from './bitset.js';
import { rectangles, type EffectUsers, type Rectangle, type Sibling } from './rectangles.js';

const USER_COUNT = 6;
/** A number beyond those of the users: only rules for all users match it. */
const UNKNOWN_USER = USER_COUNT;
const COST = { person: 3, sibling: 4, rule: () => 40 };
const set = (...members: number[]) => Bitset.of(USER_COUNT, members);
const summaryOf = (found: readonly Rectangle<string>[]) =>
  found.map(({ effect, people, names }) => [effect, people?.members() ?? 'all users', names]);
/** A user's effect on a sibling by the first rectangle with both; null: the broader rule decides. */
const first = (found: readonly Rectangle<string>[], person: number, name: string) =>
  found.find(({ people, names }) => names.includes(name) && (people?.has(person) ?? true))?.effect ?? null;

describe('rectangles of people and siblings', () => {
  it('join siblings on which the same people get the same', () => {
    const people = set(1, 2);
    const part = { effect: 'SELECT', rank: 1, requiredUsers: people, allowedUsers: people };

    const found = rectangles([sibling('a', [part]), sibling('b', [part])], COST);

    expect(summaryOf(found)).toEqual([['SELECT', [1, 2], ['a', 'b']]]);
  });

  it('include users that a larger effect has decided before', () => {
    const both = { effect: 'SELECT, INSERT', rank: 2, requiredUsers: set(0), allowedUsers: set(0) };
    const select = (...people: number[]) => ({
      effect: 'SELECT',
      rank: 1,
      requiredUsers: set(...people),
      allowedUsers: set(...people),
    });

    const found = rectangles([sibling('a', [both, select(1, 2, 3, 4)]), sibling('b', [select(0, 1, 2, 3, 4)])], COST);

    expect(summaryOf(found)).toEqual([
      ['SELECT, INSERT', [0], ['a']],
      ['SELECT', [0, 1, 2, 3, 4], ['a', 'b']],
    ]);
  });

  it('include users with the same effect from the broader rule', () => {
    const reader = (requiredUsers: Bitset) => ({ effect: 'SELECT', rank: 1, requiredUsers, allowedUsers: set(0, 1) });

    const found = rectangles([sibling('a', [reader(set(0))]), sibling('b', [reader(set(1))])], COST);

    expect(summaryOf(found)).toEqual([['SELECT', [0, 1], ['a', 'b']]]);
  });

  it('are about people rather than siblings where that is shorter, however many siblings there are', () => {
    const pairs = [0, 1, 2, 3, 4, 5].flatMap((a) => [0, 1, 2, 3, 4, 5].filter((b) => b > a).map((b) => set(a, b)));
    const siblings = Array.from({ length: 3_000 }, (_, i) => {
      const people = pairs[i % pairs.length] ?? set();
      return sibling(`t${i}`, [{ effect: 'SELECT', rank: 1, requiredUsers: people, allowedUsers: people }]);
    });

    const found = rectangles(siblings, { ...COST, person: 4_000 });

    expect(found.map(({ people }) => people?.members())).toEqual([[0], [1], [2], [3], [4], [5]]);
  });

  it('leave nothing out when there are more siblings than are looked at together', () => {
    const siblings = Array.from({ length: 2_100 }, (_, i) => {
      const people = Bitset.of(2_100, [i]);
      return sibling(`t${i}`, [{ effect: 'SELECT', rank: 1, requiredUsers: people, allowedUsers: people }]);
    });

    const found = rectangles(siblings, COST);

    const owned = found.flatMap(({ people, names }) =>
      names.map((name) => `${people?.members().join() ?? ''} ${name}`),
    );
    expect(owned.sort()).toEqual(siblings.map(({ name }, i) => `${i} ${name}`).sort());
  });

  it('deny all users last where none keeps access from a broader rule', () => {
    const keep = { effect: 'SELECT', rank: 1, requiredUsers: set(5), allowedUsers: set(5) };
    const denied = { effect: '', rank: 0, requiredUsers: set(0, 1, 2, 3), allowedUsers: set(0, 1, 2, 3) };

    expect(summaryOf(rectangles([sibling('a', [denied, keep])], COST))).toEqual([
      ['SELECT', [5], ['a']],
      ['', 'all users', ['a']],
    ]);
  });

  it('deny by name where a user keeps access from a broader rule', () => {
    const keep = { effect: 'SELECT', rank: 1, requiredUsers: set(), allowedUsers: set(5) };
    const denied = { effect: '', rank: 0, requiredUsers: set(0, 1), allowedUsers: set(0, 1) };

    expect(summaryOf(rectangles([sibling('a', [denied, keep])], COST))).toEqual([['', [0, 1], ['a']]]);
  });

  it('leave out what those before have decided between them', () => {
    const people = [
      [0, 1, 2, 5],
      [0, 1, 2, 3, 4, 5, 6],
      [1, 3, 4, 5, 6],
      [3, 4, 6],
      [0, 1, 3, 5, 6],
      [0, 3, 4, 5],
      [2, 3, 4],
    ];
    const siblings = people.map((members, i) => {
      const readers = Bitset.of(7, members);
      return sibling(String(i), [{ effect: 'SELECT', rank: 1, requiredUsers: readers, allowedUsers: readers }]);
    });

    const found = rectangles(siblings, { person: 3, sibling: 1, rule: () => 14 });

    // Greedily made, there was one more: for 3 on 4 and 5.
    expect(summaryOf(found)).toEqual([
      ['SELECT', [3, 4], ['1', '2', '3', '5', '6']],
      ['SELECT', [3, 6], ['1', '2', '3', '4']],
      ['SELECT', [1, 5], ['0', '1', '2', '4']],
      ['SELECT', [2], ['0', '1', '6']],
      ['SELECT', [0, 5], ['0', '1', '4', '5']],
    ]);
  });

  it('give every user exactly the required effect, for any input', () => {
    fc.assert(
      fc.property(anySiblings(), (siblings) => {
        const found = rectangles(siblings, COST);
        const wrong = siblings.flatMap(({ name, effectUsers: parts }) =>
          Array.from({ length: USER_COUNT }, (_, person) => {
            const part = parts.find(({ allowedUsers }) => allowedUsers.has(person));
            const allowed = part ? [part.effect, ...(part.requiredUsers.has(person) ? [] : [null])] : ['', null];
            return { name, person, allowed, effect: first(found, person, name) };
          }).filter(({ allowed, effect }) => !allowed.includes(effect)),
        );
        expect(wrong).toEqual([]);
      }),
      { numRuns: 80 },
    );
  });

  it('each decide for a user', () => {
    fc.assert(
      fc.property(anySiblings(), fc.integer({ min: 1, max: 60 }), (siblings, rule) => {
        const found = rectangles(siblings, { ...COST, rule: () => rule });
        expect(found.filter((rectangle, i) => isDead(rectangle, found.slice(0, i)))).toEqual([]);
      }),
      { numRuns: 80 },
    );
  });

  it('cost no more than one rule for each sibling and effect', () => {
    fc.assert(
      fc.property(anySiblings(), (siblings) => {
        const weigh = (people: Bitset, names: number) =>
          COST.rule() + COST.person * people.count() + COST.sibling * names;
        const cost = rectangles(siblings, COST).reduce(
          (sum, { people, names }) => sum + weigh(people ?? set(), names.length),
          0,
        );
        const apart = siblings
          .flatMap(({ effectUsers: parts }) => parts)
          .filter(({ requiredUsers }) => !requiredUsers.isEmpty());
        expect(cost).toBeLessThanOrEqual(apart.reduce((sum, { requiredUsers }) => sum + weigh(requiredUsers, 1), 0));
      }),
      { numRuns: 80 },
    );
  });
});

/** A sibling whose holders are the users with access there. */
function sibling(name: string, parts: readonly EffectUsers<string>[]): Sibling<string> {
  const holders = parts.flatMap(({ rank, allowedUsers }) => (rank === 0 ? [] : allowedUsers.members()));
  return { name, effectUsers: parts, holders: set(...holders) };
}

/** Whether earlier rectangles decide for all of its users: such a rule is unreachable, and is refused. */
function isDead(rectangle: Rectangle<string>, before: readonly Rectangle<string>[]): boolean {
  const people = rectangle.people?.members() ?? [UNKNOWN_USER];
  return people.every((person) => rectangle.names.every((name) => first(before, person, name) !== null));
}

/** For each user and sibling an effect, and whether a rule must have it. */
function anySiblings(): fc.Arbitrary<Sibling<string>[]> {
  const cell = fc.record({
    effect: fc.constantFrom('', 'SELECT', 'SELECT, INSERT', 'no effect'),
    must: fc.boolean(),
  });
  const row = fc.array(cell, { minLength: USER_COUNT, maxLength: USER_COUNT });
  return fc.array(row, { minLength: 1, maxLength: 7 }).map((rows) =>
    rows.map((cells, i) => {
      const parts = ['', 'SELECT', 'SELECT, INSERT'].map((effect) => {
        const having = (wanted: (cell: { must: boolean }) => boolean) =>
          set(...cells.flatMap((each, person) => (each.effect === effect && wanted(each) ? [person] : [])));
        return {
          effect,
          rank: effect.length,
          requiredUsers: having(({ must }) => must),
          allowedUsers: having(() => true),
        };
      });
      return sibling(`sibling ${i}`, parts);
    }),
  );
}
