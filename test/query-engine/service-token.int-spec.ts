import type { FakeServiceTokenSource } from '../support/fakes/fake-service-token-source.js';
import type { FakeTrino } from '../support/fakes/fake-trino.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

describe('the token of the service', () => {
  let tested: StatementClientUnderTest;
  let engine: FakeTrino;
  let tokens: FakeServiceTokenSource;

  beforeEach(async () => {
    tested = await StatementClientUnderTest.start();
    ({ engine, tokens } = tested);
  });
  afterEach(() => tested.stop());

  describe('that the engine refuses', () => {
    beforeEach(() => {
      engine.mode = { kind: 'verified', refusalOf: (token) => (token === 'token-1' ? `JWT expired: ${token}` : null) };
    });

    it('is renewed once, and the request repeated once', async () => {
      const answers = await tested.toTheEnd(tested.client({ forwardedProto: 'https' }), 'SELECT 1');

      expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([[1]]);
      expect(tokens.renewals).toBe(1);
      expect(engine.requests.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer token-1',
        'Bearer token-2',
        'Bearer token-2',
        'Bearer token-2',
      ]);
    });

    it('is not renewed a second time, and is in no message', async () => {
      engine.mode = { kind: 'verified', refusalOf: (token) => `JWT expired: ${token}` };

      await expect(
        tested.client({ forwardedProto: 'https' }).submit('SELECT 1', ana, tested.inTime()),
      ).rejects.toMatchObject({
        kind: 'refused',
        message: 'POST was answered with 401: JWT expired: [token]',
      });
      expect(engine.requests).toHaveLength(2);
    });

    it('is not renewed once rows have been handed out', async () => {
      engine.instead = [{ status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="Trino"' } }];

      await expect(
        tested.client().advance('/v1/statement/executing/q/y/1', ana, { ...tested.inTime(), rowsHandedOut: true }),
      ).rejects.toMatchObject({ kind: 'refused' });
      expect(tokens.renewals).toBe(0);
    });

    it('is not blamed for a 401 that asks for Basic: there the user header is at fault', async () => {
      engine.instead = [{ status: 401, headers: { 'WWW-Authenticate': 'Basic realm="Trino"' } }];

      await expect(tested.client().submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({ kind: 'refused' });
      expect(tokens.renewals).toBe(0);
    });
  });

  it('goes on with a running statement on the last token while the provider is down, and begins none', async () => {
    const trino = tested.client();
    const { page } = await trino.submit('SELECT 1', ana, tested.inTime());
    tokens.down = true;

    const next = await trino.advance(page.nextPath ?? '', ana, tested.inTime());

    expect([...next.page.rows.batches()].flat()).toEqual([[1]]);
    await expect(trino.submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
