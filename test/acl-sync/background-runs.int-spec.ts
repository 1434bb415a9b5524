import { BackgroundRunsService } from '../../src/acl-sync/background-runs.service.js';
import { HeartbeatService } from '../../src/acl-sync/heartbeat.service.js';
import { AccessChangesService } from '../../src/users/access-changes.service.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('runs without a request', () => {
  let sync: SyncUnderTest;
  let changes: AccessChangesService;
  let timers: FakeTimers;
  let runs: BackgroundRunsService;
  let heartbeat: HeartbeatService;

  const begin = (environment: Record<string, string> = {}) => {
    const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET, ...environment });
    const { service, snapshots, history, clock, log } = sync;
    runs = new BackgroundRunsService(service, changes, snapshots, history, timers, clock, log, settings);
    runs.onApplicationBootstrap();
    heartbeat = new HeartbeatService(timers, log, settings.acl.sync.enabled ? [runs] : []);
    heartbeat.onApplicationBootstrap();
  };
  /** Lets `seconds` pass, and whatever that begins come to its end. */
  const pass = async (seconds: number) => {
    sync.clock.advance(seconds);
    timers.advance(seconds * 1000);
    await new Promise((settled) => setImmediate(settled));
    await sync.service.beforeApplicationShutdown();
  };
  const triggers = () => sync.history.runs.map(({ trigger }) => trigger);

  beforeEach(() => {
    sync = new SyncUnderTest(aSnapshot().user('ana').may('SELECT', 'sales').snapshot());
    changes = new AccessChangesService();
    timers = new FakeTimers();
  });
  afterEach(() => Promise.all([runs.beforeApplicationShutdown(), heartbeat.beforeApplicationShutdown()]));

  it('follow a change by some seconds, however many more changes come', async () => {
    begin({ ACL_SYNC_ON_CHANGE_SECONDS: '10' });
    changes.announce();
    await pass(6);
    changes.announce();
    expect(triggers()).toEqual([]);
    await pass(4);
    expect(triggers()).toEqual(['change']);
    await pass(60);
    expect(triggers()).toEqual(['change']);
    changes.announce();
    await pass(10);
    expect(triggers()).toEqual(['change', 'change']);
  });

  it('follow a first step after the longest time that an engine takes to load it', async () => {
    await sync.run();
    const masked = aSnapshot().user('ana').may('SELECT', 'sales').seesMasked('sales', 'card', 'NULL');
    sync.snapshot = masked.user('bo').may('SELECT', 'sales').seesMasked('sales', 'card', 'NULL').snapshot();
    const refused = await sync.run();
    await sync.history.approve(refused.kind === 'refused' ? (refused.awaits ?? '') : '');
    await sync.run();
    expect(await sync.history.latest()).toMatchObject({ version: 2, firstStepOf: expect.any(String) as unknown });
    begin({ ACL_SYNC_ON_CHANGE_SECONDS: '0' });
    const step = expect.any(String) as unknown;
    for (const [runs, firstStepOf] of [[3, step] as const, [4, null] as const]) {
      for (let seconds = 0; seconds < 205; seconds += 15) await pass(15);
      expect(triggers()).toHaveLength(runs);
      await pass(15);
      expect(triggers().slice(runs)).toEqual(['expiry']);
      expect(await sync.history.latest()).toMatchObject({ version: runs, firstStepOf });
    }
  });

  it.each<Record<string, string>>([{ ACL_SYNC_ENABLED: 'false' }, { ACL_SYNC_ON_CHANGE_SECONDS: '0' }])(
    'do not follow changes with %j',
    async (environment) => {
      begin(environment);
      changes.announce();
      await pass(3600);
      expect(triggers()).toEqual([]);
    },
  );

  it('come when the next grant expires', async () => {
    begin();
    const expiresAt = new Date(sync.clock.now().getTime() + 100_000);
    sync.snapshot = { ...aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot() };
    await runs.run('schedule');
    const open = sync.target.text;
    await pass(99);
    expect(triggers()).toEqual(['schedule']);
    await pass(1);

    expect(triggers()).toEqual(['schedule', 'expiry']);
    expect(open).toContain('"ana"');
    expect(sync.target.text).not.toContain('"ana"');
  });

  it('come when the next grant expires that any run of this process has seen', async () => {
    begin();
    const expiresAt = new Date(sync.clock.now().getTime() + 100_000);
    sync.snapshot = { ...aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot() };
    await sync.run({ trigger: 'route' });
    await pass(100);

    expect(triggers()).toEqual(['route', 'expiry']);
    expect(sync.target.text).not.toContain('"ana"');
  });

  it('come when the next grant expires that was there at the start', async () => {
    const expiresAt = new Date(sync.clock.now().getTime() + 100_000);
    sync.snapshot = { ...aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot() };
    begin();
    await pass(1);
    await pass(99);
    expect(triggers()).toEqual(['expiry']);
  });

  it('come when the next grant expires, also where a run between could not read the grants', async () => {
    begin();
    const expiresAt = new Date(sync.clock.now().getTime() + 100_000);
    sync.snapshot = { ...aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot() };
    await runs.run('schedule');
    sync.canRead = false;
    await runs.run('schedule');
    sync.canRead = true;
    await pass(100);

    expect(triggers()).toEqual(['schedule', 'schedule', 'expiry']);
    expect(sync.target.text).not.toContain('"ana"');
  });

  it('are waited for 15 s, not at once, while the database does not say when a grant ends that has ended', async () => {
    const expiresAt = new Date(sync.clock.now().getTime() + 10_000);
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot();
    begin();
    await pass(1);
    const read = sync.snapshots.nextExpiry.bind(sync.snapshots);
    sync.snapshots.nextExpiry = () => Promise.reject(new Error('the database is away'));
    await pass(9);
    expect(timers.waits.slice(-2)).toEqual([9_000, 15_000]);
    expect(sync.log.at('warn')).toEqual(['next expiry could not be read']);
    sync.snapshots.nextExpiry = read;
    await pass(15);
    expect(triggers()).toEqual(['expiry']);
  });

  it('wait for the expiry that is next now, not for one that was', async () => {
    begin();
    const at = (seconds: number) => new Date(sync.clock.now().getTime() + seconds * 1000);
    sync.snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales', { expiresAt: at(100) })
      .snapshot();
    await runs.run('schedule');
    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'sales').snapshot();
    await runs.run('schedule');
    await pass(1000);
    expect(triggers()).toEqual(['schedule', 'schedule']);
  });

  it('end with the service: the current run is finished, and no other starts', async () => {
    begin();
    changes.announce();
    const underWay = runs.run('schedule');
    await runs.beforeApplicationShutdown();
    expect(triggers()).toEqual(['schedule']);
    await underWay;
    await pass(60);
    await runs.run('schedule');
    expect(triggers()).toEqual(['schedule']);
  });

  it('survive whatever goes wrong in one', async () => {
    begin();
    sync.lock.whileHeld = () => Promise.reject(new Error('the database is away'));
    await runs.run('schedule');
    expect(sync.log.at('error')).toEqual(['TRINO_ACL_SYNC_FAILED']);
  });
});
