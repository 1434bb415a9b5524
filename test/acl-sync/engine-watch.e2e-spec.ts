import { Registry } from 'prom-client';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { BackgroundRunsService } from '../../src/acl-sync/background-runs.service.js';
import { EngineWatchService } from '../../src/acl-sync/engine-watch.service.js';
import { AuditService } from '../../src/audit/audit.service.js';
import { HealthRegistry } from '../../src/platform/operations/health.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { EngineProbe } from '../../src/query-engine/engine-probe.service.js';
import { AccessChangesService } from '../../src/users/access-changes.service.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { failed, FakeTrino } from '../support/fakes/fake-trino.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { startService, type TestService } from '../support/service/service.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('the version that the engine uses', () => {
  let engine: FakeTrino;
  let service: TestService;
  let sync: SyncUnderTest;
  let metrics: Registry;
  let health: HealthRegistry;
  let live: EngineWatchService;
  let runs: BackgroundRunsService;
  let shown: AclSyncMetrics;

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
    const probe = service.app.get(EngineProbe);
    const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET, SERVICE_QUERY_HOST: '127.0.0.1' });
    const { history, targets, clock, log } = sync;
    const timers = new FakeTimers();
    shown = new AclSyncMetrics(metrics, targets);
    health = new HealthRegistry();
    const changes = new AccessChangesService();
    runs = new BackgroundRunsService(sync.service, changes, sync.snapshots, history, timers, clock, log, settings);
    live = new EngineWatchService(history, probe, targets, runs, shown, timers, clock, log, settings, health);
    await sync.run();
  });

  /** What the engine answers to the marker of the version that was published last. */
  const engineSays = async (name: string, type?: string): Promise<void> => {
    const hash = (await sync.history.latest())?.hash ?? '';
    engine.answers(`SET SESSION grantline_rules_${hash} = true`, failed(name, 'a message', type));
  };
  const confirmed = async () => (await sync.history.summary()).live;

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
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live{target="fake"} 1$/m);
    expect(await metrics.metrics()).toMatch(/^grantline_acl_grant_to_live_seconds_sum 60$/m);
  });

  it('is asked for as long as the service runs, and degrades it when the rules are replaced', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await health.report()).toMatchObject({ status: 'up', ages: { rules: 0 } });

    await engineSays('PERMISSION_DENIED');
    await live.check();
    await live.check();

    expect(await health.report()).toMatchObject({ status: 'degraded', parts: { rules: 'degraded' } });
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live{target="fake"} 0$/m);
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live_overdue 1$/m);
    expect(sync.log.at('error')).toEqual(['TRINO_ACL_RULES_OVERDUE']);
    await shown.setHistoryGauges(sync.history, service.app.get(AuditService), sync.guarantees);
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live{target="fake"} 0$/m);
  });

  it('is followed at once by the access, where it has the masks of it alone', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const masked = aSnapshot().user('ana').may('SELECT', 'sales').user('bo').may('SELECT', 'sales');
    sync.snapshot = masked.everyone().seesMasked('sales', 'card', 'NULL').snapshot();
    sync.recorded('account_activated', 'user', 2);
    const approved = await sync.run();
    await sync.history.approve(approved.kind === 'refused' ? (approved.awaits ?? '') : '');
    expect(await sync.run()).toMatchObject({ reasons: [{ code: 'masks-first' }] });

    await engineSays('PERMISSION_DENIED');
    await live.check();
    expect(await sync.history.latest()).toMatchObject({ version: 2 });
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await sync.history.latest()).toMatchObject({ version: 3, trigger: 'change' });
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await sync.history.latest()).toMatchObject({ version: 4, trigger: 'change', firstStepOf: null });
  });

  it('may be an older one with the same rules, until those between them have surely arrived', async () => {
    const first = sync.snapshot;
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales').may('INSERT', 'lake').snapshot();
    await sync.run();
    sync.snapshot = first;
    await sync.run();
    await live.check();
    expect(await sync.history.latest()).toMatchObject({ version: 3, liveAt: null });
    sync.clock.advance(211);
    await live.check();
    expect(await sync.history.latest()).toMatchObject({ version: 3, liveAt: sync.clock.now() });
  });

  it('may take its time to the engine, and no longer', async () => {
    await engineSays('PERMISSION_DENIED');
    sync.clock.advance(210);
    await live.check();
    expect(await health.report()).toMatchObject({ status: 'up' });
    sync.clock.advance(1);
    await live.check();
    expect(await health.report()).toMatchObject({ status: 'degraded' });
    expect(sync.log.at('error')).toEqual(['TRINO_ACL_RULES_OVERDUE']);
  });

  it.each([
    ['is overdue, however often others follow, where the engine never reads them', 'PERMISSION_DENIED', 1],
    [
      'is in time, however often others follow, where the engine reads one after the other',
      'INVALID_SESSION_PROPERTY',
      0,
    ],
  ])('%s', async (_, engineOfSecond, overdue) => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const publishAlso = async (...paths: string[]): Promise<void> => {
      const story = aSnapshot().user('ana').may('SELECT', 'sales');
      sync.snapshot = paths.reduce((all, path) => all.may('INSERT', path), story).snapshot();
      await sync.run();
      await engineSays('PERMISSION_DENIED');
      await live.check();
    };
    await publishAlso('lake');
    await engineSays(engineOfSecond);
    sync.clock.advance(180);
    await publishAlso('lake', 'ice');
    expect(await metrics.metrics()).toMatch(/^grantline_acl_live_overdue 0$/m);
    sync.clock.advance(31);
    await live.check();
    expect(await metrics.metrics()).toMatch(new RegExp(`^grantline_acl_live_overdue ${overdue}$`, 'm'));
    await publishAlso('lake', 'ice', 'hive');
    await live.check();
    expect(await metrics.metrics()).toMatch(new RegExp(`^grantline_acl_live_overdue ${overdue}$`, 'm'));
    expect(sync.log.at('error')).toEqual(overdue === 1 ? ['TRINO_ACL_RULES_OVERDUE'] : []);
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
    expect(sync.log.at('error')).toContain('TRINO_ACL_RULES_BROKEN');
    expect(sync.log.at('error').filter((marker) => marker === 'TRINO_ACL_RULES_BROKEN')).toHaveLength(1);
    expect(await confirmed()).toBeNull();
    expect(await metrics.metrics()).toMatch(/^grantline_acl_rules_broken 1$/m);
    expect(await health.report()).toMatchObject({ status: 'degraded', parts: { rules: 'degraded' } });

    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await metrics.metrics()).toMatch(/^grantline_acl_rules_broken 0$/m);
    expect(await health.report()).toMatchObject({ status: 'up' });
  });

  it('gives way to the last one that worked, when the engine fails on it', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const worked = sync.target.text;
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales').may('INSERT', 'lake').snapshot();
    await sync.run();
    await engineSays('PERMISSION_DENIED');
    await live.check(); // the engine works, and reads the former text
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    for (let times = 0; times < 4; times++) await live.check();

    expect(sync.target.text).toBe(worked);
    expect(await sync.history.latest()).toMatchObject({ version: 3, trigger: 'rollback' });
    expect(sync.history.rows[1]).toMatchObject({ brokenAt: sync.clock.now() });
    expect(sync.history.runs.map(({ trigger }) => trigger)).toEqual(['schedule', 'schedule', 'rollback']);
  });

  it('is not blamed for a text that the engine read before it', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    sync.target.editByHand('nonsense');
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales').may('INSERT', 'lake').snapshot();
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    await live.check();
    await sync.run();
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    for (let times = 0; times < 5; times++) await live.check();
    expect(sync.history.rows.map(({ brokenAt }) => brokenAt)).toEqual([null, null]);

    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    expect(await health.report()).toMatchObject({ status: 'up' });
  });

  it('may be one that a killed run wrote and did not record', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const { history } = sync;
    const confirm = history.confirm.bind(history);
    history.confirm = () => Promise.reject(new Error('killed'));
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales').may('INSERT', 'lake').snapshot();
    await sync.run();
    history.confirm = confirm;
    const hash = sync.history.rows[1]?.hash ?? '';
    engine.answers(`SET SESSION grantline_rules_${hash} = true`, failed('INVALID_SESSION_PROPERTY', 'a message'));
    await engineSays('PERMISSION_DENIED');
    await live.check();

    expect(sync.log.at('error')).not.toContain('TRINO_ACL_RULES_OVERDUE');
    expect(await sync.history.latest()).toMatchObject({ version: 2, liveAt: sync.clock.now() });
    expect(await health.report()).toMatchObject({ status: 'up' });
  });

  it('is reported as overdue also where the target cannot be read, and a run cannot mend it', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    sync.target.editByHand('{}');
    await engineSays('PERMISSION_DENIED');
    sync.target.read = () => Promise.reject(new RulesTargetUnavailable('unreachable', 'it does not answer'));
    await live.check();
    await live.check();
    expect(sync.log.at('error')).toEqual(['TRINO_ACL_RULES_OVERDUE']);
    expect(await health.report()).toMatchObject({ status: 'degraded' });
  });

  it('is published again at once when the engine uses an edit by hand', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const text = sync.target.text;
    sync.target.editByHand('{}');
    await engineSays('PERMISSION_DENIED');
    await live.check();
    expect(sync.target.text).toBe(text);
    expect(sync.target.former).toBe('{}');
  });

  it('is published again at once when the engine fails on an edit by hand', async () => {
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    const text = sync.target.text;
    sync.target.editByHand('nonsense');
    await engineSays('CONFIGURATION_INVALID', 'INTERNAL_ERROR');
    for (let times = 0; times < 6; times++) await live.check();
    expect(sync.target.text).toBe(text);
    expect(sync.target.former).toBe('nonsense');
    expect(sync.history.rows.map(({ brokenAt }) => brokenAt)).toEqual([null, null]);
  });

  it('names catalogs that lead around restrictions, in the log once', async () => {
    const catalogs = (...rows: string[][]): void => {
      const columns = ['catalog_name', 'connector_name'].map((name) => ({ name, type: 'varchar' }));
      engine.answers('SELECT catalog_name, connector_name FROM system.metadata.catalogs', { columns, data: rows });
    };
    const next = async (snapshot: Snapshot): Promise<void> => {
      sync.snapshot = snapshot;
      await sync.run();
      await engineSays('INVALID_SESSION_PROPERTY');
      await live.check();
    };
    catalogs(['lake', 'hive'], ['ice', 'iceberg']);
    await engineSays('INVALID_SESSION_PROPERTY');
    await live.check();
    await next(aSnapshot().user('ana').may('SELECT', 'sales').may('INSERT', 'sales').snapshot());

    expect(live.openCatalogs).toMatchObject([
      { code: 'catalog-open', severity: 'warning', witness: expect.stringContaining('hive.non-managed') as string },
    ]);
    expect(sync.log.at('warn').filter((marker) => marker === 'TRINO_ACL_CATALOG_OPEN')).toHaveLength(1);

    catalogs(['ice', 'iceberg']);
    await next(aSnapshot().user('ana').may('SELECT', 'sales').snapshot());
    expect(live.openCatalogs).toEqual([]);
  });
});
