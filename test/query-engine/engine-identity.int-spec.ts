import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { EngineConnections } from '../../src/query-engine/engine-connections.service.js';
import { EngineIdentity } from '../../src/query-engine/engine-identity.service.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { StatementClientUnderTest } from './statement-client-under-test.js';

describe('the identity check of the engine', () => {
  let tested: StatementClientUnderTest;
  beforeAll(async () => {
    tested = await StatementClientUnderTest.start();
  });
  afterAll(() => tested.stop());

  it('runs in the background: correct within a minute after a mismatch, without any query', async () => {
    const { settings } = parseSettings({
      AUTH_SECRET_KEY: TEST_SECRET,
      SERVICE_QUERY_HOST: '127.0.0.1',
      SERVICE_QUERY_PORT: '1',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
    const [timers, log, stop] = [new FakeTimers(), new LogBook(), new AbortController()];
    const connections = new EngineConnections(tested.client(), timers, settings);
    const identity = new EngineIdentity(connections, tested.tokens, settings, timers, log);
    expect(identity.checkAge).toBeNull();
    tested.engine.answers('SELECT current_user', { columns: [{ name: 'u', type: 'varchar' }], data: [['sombody']] });
    const watching = identity.watch(stop.signal);
    await timers.untilWaiting();
    expect(identity.latestIdentity).toBe('mismatch');
    expect(log.at('error')).toEqual(['ENGINE_IDENTITY_MISMATCH']);

    tested.engine.scripts.delete('SELECT current_user');
    timers.advance(59_999);
    expect(identity.checkAge).toBeCloseTo(60, 1);
    await timers.untilWaiting();

    expect(identity.latestIdentity).toBe('confirmed');
    expect(identity.checkAge).toBe(0);
    stop.abort();
    await watching;
  });
});
