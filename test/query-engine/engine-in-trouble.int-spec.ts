import type { SkippingTimers } from '../support/fakes/fake-timers.js';
import type { FakeTrino } from '../support/fakes/fake-trino.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

describe('an engine in trouble', () => {
  let tested: StatementClientUnderTest;
  let engine: FakeTrino;
  let timers: SkippingTimers;

  beforeEach(async () => {
    tested = await StatementClientUnderTest.start();
    ({ engine, timers } = tested);
  });
  afterEach(() => tested.stop());

  it('is asked again after 429, 502, 503, 504 and lost connections, as it wishes', async () => {
    engine.instead = [
      { method: 'POST', status: 503 },
      { method: 'POST', hangUp: true },
      { method: 'POST', status: 429, headers: { 'Retry-After': '2' } },
      { method: 'GET', status: 502 },
      { method: 'GET', status: 504 },
    ];

    const answers = await tested.toTheEnd(tested.client(), 'SELECT 1');

    expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([[1]]);
    expect(timers.waits).toEqual([75, 150, 2000, 75, 150]);
  });

  it('gets five seconds on a POST and thirty on a GET', async () => {
    const trino = tested.client();
    const { page } = await trino.submit('SELECT 1', ana, tested.inTime());
    engine.instead = Array.from({ length: 100 }, () => ({ hangUp: true }));

    await expect(trino.submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({ kind: 'unavailable' });
    const forThePost = timers.waits.splice(0).reduce((sum, wait) => sum + wait, 0);
    await expect(trino.advance(page.nextPath ?? '', ana, tested.inTime())).rejects.toMatchObject({
      kind: 'unavailable',
    });
    const forTheGet = timers.waits.reduce((sum, wait) => sum + wait, 0);

    expect(forThePost).toBeGreaterThan(3000);
    expect(forThePost).toBeLessThanOrEqual(5000);
    expect(forTheGet).toBeGreaterThan(27_000);
    expect(forTheGet).toBeLessThanOrEqual(30_000);
  });

  it('is not waited for beyond what is left of the statement', async () => {
    engine.instead = [{ status: 429, headers: { 'Retry-After': '3' } }];

    await expect(tested.client().submit('SELECT 1', ana, { deadline: timers.now() + 2000 })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(timers.waits).toEqual([]);
  });

  it.each([
    [500, 'unavailable'],
    [400, 'refused'],
    [403, 'forbidden'],
    [410, 'gone'],
    [302, 'protocol'],
  ])('is not asked again after %s', async (status, kind) => {
    engine.instead = [
      { status, headers: { Location: `${tested.origin}/elsewhere` }, body: 'a stack trace with token-1' },
    ];

    const refused = tested.client().submit('SELECT 1', ana, tested.inTime());

    await expect(refused).rejects.toMatchObject({ kind });
    await expect(refused).rejects.not.toThrow(/token-1|stack trace/);
    expect(engine.requests).toHaveLength(1);
  });

  it.each(['', '[]', '{"id":1}', '<html>', '{"id":"q","columns":7}', '{"id":"q","data":{"encoding":"json"}}'])(
    'that answers %j is no engine',
    async (body) => {
      engine.instead = [{ body }];

      await expect(tested.client().submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({
        kind: 'protocol',
      });
    },
  );
});
