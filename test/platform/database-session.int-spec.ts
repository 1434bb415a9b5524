import { DataSource } from 'typeorm';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { inFastMotion } from '../support/fakes/fast-motion.js';

/** The number of the transaction in which a query runs; a query by itself has one of its own. */
const NUMBER = 'SELECT pg_current_xact_id()::text AS number';

describe('the transaction of an asynchronous context', () => {
  let database: TestDatabase;
  let source: DataSource;
  let session: DatabaseSession;
  beforeAll(async () => {
    database = await freshDatabase();
    source = await new DataSource({ type: 'postgres', url: database.url, extra: { max: 10 } }).initialize();
    session = new DatabaseSession(source);
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  const plainly = async (): Promise<unknown> => (await session.manager.query<{ number: string }[]>(NUMBER))[0]?.number;
  const prepared = async (): Promise<unknown> =>
    (await session.queryPrepared<{ number: string }>('number', NUMBER, []))[0]?.number;

  it('is the one of every query in it, of whichever kind, also of a transaction begun within', async () => {
    const numbers = await session.run(async () => [
      await plainly(),
      await prepared(),
      await session.run(() => plainly()),
      await plainly(),
    ]);

    expect(new Set(numbers).size).toBe(1);
  });

  it('is left when it ends', async () => {
    const within = await session.run(() => plainly());
    const after = [await plainly(), await plainly(), await prepared(), await prepared()];

    expect(new Set([within, ...after]).size).toBe(5);
  });

  it('is not that of work which it started and which outlasts it', async () => {
    let resume = (): void => undefined;
    const ended = new Promise<void>((resolve) => (resume = resolve));
    let later: Promise<unknown> = Promise.resolve();
    const within = await session.run(() => {
      later = ended.then(async () => [await plainly(), await prepared(), await session.run(() => plainly())]);
      return plainly();
    });
    resume();

    expect(new Set([within, ...((await later) as unknown[])]).size).toBe(4);
  });

  it('is each one’s own while others begin and end around it', async () => {
    const turns = Array.from({ length: 30 }, (_, at) => at);

    const seen = await Promise.all(
      turns.map(async (at) => {
        const before = await plainly();
        const within = await session.run(async () => {
          const numbers = [];
          for (let query = 0; query <= at % 5; query += 1)
            numbers.push(await (query % 2 === 0 ? plainly() : prepared()));
          if (at % 7 === 0)
            await expect(session.run(() => Promise.reject(new Error('undone')))).rejects.toThrow('undone');
          numbers.push(await plainly());
          return new Set(numbers);
        });
        return { within: [...within], around: [before, await plainly(), await prepared()] };
      }),
    );

    expect(seen.map(({ within }) => within.length)).toEqual(turns.map(() => 1));
    const all = seen.flatMap(({ within, around }) => [...within, ...around]);
    expect(new Set(all).size).toBe(turns.length * 4);
  });

  it('is rolled back when its work fails, and those that run beside it go on', async () => {
    let resume = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (resume = resolve));
    const beside = session.run(async () => {
      const before = await plainly();
      await waiting;
      return [before, await plainly()];
    });
    await expect(session.run(() => Promise.reject(new Error('undone')))).rejects.toThrow('undone');
    resume();

    const [before, after] = await beside;
    expect(after).toBe(before);
  });

  it('lets no prepared query wait as long as others may: the process that should answer it may have stopped', async () => {
    const holder = source.createQueryRunner();
    await holder.query('SELECT pg_advisory_lock(1)');

    await inFastMotion(() =>
      expect(session.queryPrepared('wait', 'SELECT pg_advisory_lock(1)', [])).rejects.toThrow('Query read timeout'),
    );
    await holder.query('SELECT pg_advisory_unlock(1)');
    await holder.release();
  });
});
