import { Connection } from '../../src/query-engine/connection.js';
import { InterfaceError, OperationalError } from '../../src/query-engine/domain/db-api-errors.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { column, type FakeTrino } from '../support/fakes/fake-trino.js';
import { StatementClientUnderTest } from './statement-client-under-test.js';
import { until } from '../support/service/until.js';

describe('a cursor, from its statement to its end', () => {
  let timers: FakeTimers;
  let tested: StatementClientUnderTest;
  let engine: FakeTrino;
  let connection: Connection;
  beforeEach(async () => {
    timers = new FakeTimers();
    tested = await StatementClientUnderTest.start();
    ({ engine } = tested);
    connection = new Connection(tested.client({}, timers), timers, sessionFor('ana'), () => undefined);
    engine.answers('SELECT n', { columns: [column('n', 'integer')], data: [[1], [2]] }, {}, { data: [[3]] });
  });
  afterEach(() => tested.stop());

  const asked = (method: string): number => engine.requests.filter((request) => request.method === method).length;

  it('ends a call that is under way when it is closed, and its statement', async () => {
    engine.answers('SELECT slow', { after: new Promise(() => undefined) });
    const cursor = connection.cursor();
    const executing = cursor.execute('SELECT slow');
    await until(() => asked('GET') > 0);
    const [closed] = await Promise.allSettled([executing, cursor.close()]);

    expect(closed).toMatchObject({ reason: { name: 'InterfaceError', message: 'the cursor is closed' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('lets the next page come while one is read, however closely', async () => {
    const rows = Array.from({ length: 40_000 }, (_, n) => [n]);
    const data = { data: rows };
    engine.answers('SELECT pages', { columns: [column('n', 'integer')], data: [[0]] }, data, data, data);
    const cursor = connection.cursor();
    await cursor.execute('SELECT pages');
    await cursor.fetchMany(2);
    let others = 0;
    setImmediate(() => (others += 1));
    for (let count = 1_000; count < rows.length; count += 1_000) await cursor.fetchMany(1_000);

    expect(others).toBe(1);
    await cursor.close();
  });

  it('takes one call at a time', async () => {
    const cursor = connection.cursor();
    const executing = cursor.execute('SELECT n');
    await expect(cursor.execute('SELECT 1')).rejects.toBeInstanceOf(InterfaceError);
    await executing;
    const both = await Promise.allSettled([cursor.fetchAll(), cursor.fetchOne()]);

    expect(both).toMatchObject([{ value: { length: 3 } }, { reason: { name: 'InterfaceError' } }]);
  });

  it('tells how far it is', async () => {
    const page = { columns: [column('n', 'integer')], state: 'RUNNING' };
    engine.answers('SELECT far', { ...page, progress: 25 }, { ...page, progress: 75, data: [[1]] });
    const seen: unknown[] = [];
    const cursor = connection.cursor();
    expect(cursor.progress).toBeNull();
    await cursor.execute('SELECT far', [], { onProgress: ({ state, percent }) => seen.push([state, percent]) });

    expect(seen).toEqual([
      ['QUEUED', null],
      ['RUNNING', 25],
      ['RUNNING', 75],
    ]);
    expect(cursor.progress).toEqual({ queryId: cursor.queryId, state: 'RUNNING', percent: 75 });
  });

  it('is alive for the engine while its rows are read slowly, until they are read or its time is over', async () => {
    const heartbeats = async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute += 1) {
        await timers.untilWaiting();
        const before = asked('HEAD') + asked('DELETE');
        timers.advance(60_000);
        await until(() => asked('HEAD') + asked('DELETE') > before);
      }
    };
    const cursor = connection.cursor();
    await cursor.execute('SELECT n', [], { timeout: 300 });
    await heartbeats(2);
    const newest = engine.requests.filter(({ method }) => method === 'GET').at(-1)?.path;
    expect(engine.requests.filter(({ method }) => method === 'HEAD').map(({ path }) => path)).toEqual([newest, newest]);
    await cursor.fetchMany(2);
    await heartbeats(3);

    expect([asked('HEAD'), asked('DELETE')]).toEqual([4, 1]);
    await expect(cursor.fetchAll()).rejects.toBeInstanceOf(OperationalError);
  });
});
