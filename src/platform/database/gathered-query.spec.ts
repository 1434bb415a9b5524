import { setImmediate } from 'node:timers/promises';
import type { QueryResultRow } from 'pg';
import { GatheredQuery } from './gathered-query.js';

const [EARLY, LATE] = [new Date(1_000), new Date(2_000)];
const TEXT = 'SELECT name FROM people WHERE name = $1 AND length = $2 AND since > $3';

/** Answers in another order than it was asked, and knows no `nobody`. */
class FakeSession {
  isInTransaction = false;
  failure: Error | null = null;
  readonly statements: unknown[][] = [];
  readonly texts: string[] = [];

  queryPrepared<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    this.statements.push(values);
    this.texts.push(`${name}: ${text.trim().replaceAll(/\s+/g, ' ')}`);
    if (this.failure !== null) return Promise.reject(this.failure);
    const names = [values[0]].flat() as string[];
    const rows = names.map((name, index) => ({ name, position: index + 1 })).filter(({ name }) => name !== 'nobody');
    return Promise.resolve(rows.reverse() as unknown as Row[]);
  }
}

describe('a gathered query', () => {
  let session: FakeSession;
  let query: GatheredQuery<{ name: string }>;
  beforeEach(() => {
    session = new FakeSession();
    query = new GatheredQuery(session, 'people', ['text', 'integer'], TEXT);
  });
  const find = async (name: string, time = EARLY): Promise<string | null> =>
    (await query.find([name, name.length], [time]))?.name ?? null;

  it('is one statement for all who ask in one turn, and gives each its own row', async () => {
    const found = await Promise.all(['ana', 'nobody', 'bo', 'nobody', 'cleo', 'ana'].map((name) => find(name)));

    expect(found).toEqual(['ana', null, 'bo', null, 'cleo', 'ana']);
    expect(session.statements).toEqual([[['ana', 'nobody', 'bo', 'nobody', 'cleo', 'ana'], [3, 6, 2, 6, 4, 3], EARLY]]);
  });

  it('is the query itself for one who is alone in its turn, and else looks up each key by it', async () => {
    await find('ana');
    await Promise.all([find('ana'), find('bo')]);

    expect(session.statements[0]).toEqual(['ana', 3, EARLY]);
    expect(session.texts).toEqual([
      `people: ${TEXT}`,
      'people_many: SELECT asked.position::integer AS position, found.* ' +
        'FROM unnest((SELECT $1::text[]), (SELECT $2::integer[])) WITH ORDINALITY AS asked(part_1, part_2, position) ' +
        'CROSS JOIN LATERAL (SELECT name FROM people WHERE name = asked.part_1 AND length = asked.part_2 AND since > $3 OFFSET 0) AS found',
    ]);
  });

  it('judges all by the time of the last', async () => {
    await Promise.all([find('ana'), find('bo', LATE)]);

    expect(session.statements).toEqual([[['ana', 'bo'], [3, 2], LATE]]);
  });

  it('is asked anew for whoever comes after the statement has been sent', async () => {
    const first = find('ana');
    await setImmediate();
    const second = find('ana');

    expect([await first, await second]).toEqual(['ana', 'ana']);
    expect(session.statements).toHaveLength(2);
  });

  it('is a statement of its own in a transaction, sent at once', async () => {
    const outside = find('ana');
    session.isInTransaction = true;
    const within = find('bo');
    session.isInTransaction = false;

    expect(session.statements).toEqual([['bo', 2, EARLY]]);
    expect([await outside, await within]).toEqual(['ana', 'bo']);
  });

  it('fails for all who asked together, and for nobody after them', async () => {
    session.failure = new Error('gone');
    const failed = await Promise.allSettled([find('ana'), find('bo')]);
    session.failure = null;

    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await find('ana')).toBe('ana');
  });
});
