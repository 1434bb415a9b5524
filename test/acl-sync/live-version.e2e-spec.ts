import { Registry } from 'prom-client';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { LiveVersionService } from '../../src/acl-sync/live-version.service.js';
import { HealthRegistry } from '../../src/platform/health.js';
import { Settings } from '../../src/platform/settings.js';
import { EngineProbe } from '../../src/query-engine/engine-probe.service.js';
import { aSnapshot } from '../support/snapshot-builder.js';
import { FakeTimers } from '../support/fake-timers.js';
import { failed, FakeTrino } from '../support/fake-trino.js';
import { startService, type TestService } from '../support/service.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('the version that the engine uses', () => {
  let engine: FakeTrino;
  let service: TestService;
  let sync: SyncUnderTest;
  let metrics: Registry;
  let health: HealthRegistry;
  let live: LiveVersionService;

  beforeAll(async () => {
    engine = new FakeTrino();
    const { hostname, port } = new URL(await engine.listen());
    service = await startService({ SERVICE_QUERY_HOST: hostname, SERVICE_QUERY_PORT: port, ACL_SYNC_ENABLED: 'false' });
  });
  afterAll(async () => {
    await service.stop();
    await engine.close();
  });

  beforeEach(async () => {
    sync = new SyncUnderTest(aSnapshot().user('ana').may('SELECT', 'sales').snapshot());
    metrics = new Registry();
    const [probe, settings] = [service.app.get(EngineProbe), service.app.get(Settings)];
    const { history, clock, log } = sync;
    const shown = new AclSyncMetrics(metrics);
    health = new HealthRegistry();
    live = new LiveVersionService(history, probe, shown, new FakeTimers(), clock, log, settings, health);
    await sync.run();
  });

  /** What the engine answers to the marker of the version that was published last. */
  const engineSays = async (name: string, type?: string): Promise<void> => {
    const hash = (await sync.history.latest())?.hash ?? '';
    engine.answers(`SET SESSION grantline_rules_${hash} = true`, failed(name, 'a message', type));
  };
  const confirmed = async () => (await sync.history.summary()).live;
  const probes = () => engine.requests.filter(({ body }) => body.startsWith('SET SESSION grantline_rules_')).length;

  it('is another one until the engine knows the marker and no such property', async () => {
    await engineSays('PERMISSION_DENIED');
    sync.clock.advance(30);
    await live.check();
    expect(await confirmed()).toBeNull();

    await engineSays('INVALID_SESSION_PROPERTY');
    sync.clock.advance(30);
    await live.check();
    expect(await confirmed()).toMatchObject({ hash: (await sync.history.latest())?.hash });
    expect(sync.log.lines.at(-1)).toMatchObject({
      message: 'TRINO_ACL_RULES_LIVE',
      fields: { version: 1, seconds: 60 },
    });
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live 1$/m);
    expect(await metrics.metrics()).toMatch(/^grantline_acl_grant_to_live_seconds_sum 60$/m);
  });

  it('is asked for no more once it is known', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const before = probes();
    await live.check();
    expect(probes()).toBe(before);
  });

  it('is reported as broken once, after the engine failed to use the file three times in a row', async () => {
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    await live.check();
    await live.check();
    await engineSays('PERMISSION_DENIED');
    await live.check();
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    await live.check();
    await live.check();
    expect(sync.log.at('error')).toEqual([]);
    expect(await metrics.metrics()).toMatch(/^grantline_acl_rules_broken 0$/m);
    await live.check();
    await live.check();
    expect(sync.log.at('error')).toEqual(['TRINO_ACL_RULES_BROKEN']);
    expect(await confirmed()).toBeNull();
    expect(await metrics.metrics()).toMatch(/^grantline_acl_rules_broken 1$/m);
    expect(await health.report()).toMatchObject({ status: 'degraded', parts: { rules: 'degraded' } });

    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await metrics.metrics()).toMatch(/^grantline_acl_rules_broken 0$/m);
    expect(await health.report()).toMatchObject({ status: 'up' });
  });
});
