import { Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { DatabaseClock } from '../../src/platform/database/database-clock.js';
import { NodeTimers } from '../../src/kernel/clock.js';
import { testPostgres } from '../support/database/database.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TestClock } from '../support/fakes/test-clock.js';

describe('the clock of the service', () => {
  let source: DataSource;
  beforeAll(async () => {
    source = await new DataSource({ type: 'postgres', url: testPostgres().url }).initialize();
  });
  afterAll(() => source.destroy());

  it("is the database's, however wrong that of the machine is, which is logged", async () => {
    const [{ now }] = await source.query<[{ now: Date }]>('SELECT clock_timestamp() AS now');
    const machine = new TestClock(new Date(now.getTime() - 900_000));
    const [log, registry] = [new LogBook(), new Registry()];

    const clock = await DatabaseClock.createAligned({
      source,
      timers: new NodeTimers(),
      log,
      registry,
      machineClock: machine,
    });
    await clock.readTime();
    clock.onApplicationShutdown();

    // Between two answers of the database, not beside them.
    const [{ later }] = await source.query<[{ later: Date }]>(
      `SELECT clock_timestamp() + interval '1 second' AS later`,
    );
    expect(clock.now().getTime()).toBeGreaterThan(now.getTime() - 1_000);
    expect(clock.now().getTime()).toBeLessThanOrEqual(later.getTime());
    expect(log.at('warn')).toEqual(["this machine's clock differs from the database's"]);
    const [offset] = (await registry.getSingleMetric('grantline_clock_offset_seconds')?.get())?.values ?? [];
    expect(Math.round((offset?.value ?? 0) / 10)).toBe(-90);
  });

  it('goes on while the database does not answer', async () => {
    let isAway = false;
    const timers = new NodeTimers();
    const asked = {
      query: (sql: string) => (isAway ? Promise.reject(new Error('away')) : source.query(sql)),
    } as Pick<DataSource, 'query'>;
    const clock = await DatabaseClock.createAligned({
      source: asked,
      timers,
      log: new LogBook(),
      registry: new Registry(),
      machineClock: new TestClock(),
    });
    const before = clock.now();
    isAway = true;

    await expect(clock.readTime()).rejects.toThrow('away');
    clock.onApplicationShutdown();

    expect(clock.now().getTime()).toBeGreaterThanOrEqual(before.getTime());
  });
});
