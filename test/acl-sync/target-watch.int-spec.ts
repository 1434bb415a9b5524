import { Registry } from 'prom-client';
import type { PublicationDraft } from '../../src/acl-sync/domain/publication-history.js';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { RulesTargets, RulesTargetUnavailable, type TargetFailure } from '../../src/acl-sync/domain/rules-target.js';
import { HeartbeatService, TargetProbe } from '../../src/acl-sync/heartbeat.service.js';
import { HealthRegistry } from '../../src/platform/operations/health.js';
import { FakePublicationHistory } from '../support/fakes/fake-publication-history.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';

describe('the watch of the rules target', () => {
  const [target, timers, log] = [new FakeRulesTarget(), new FakeTimers(), new LogBook()];
  const [health, registry] = [new HealthRegistry(), new Registry()];
  const history = new FakePublicationHistory();
  const targets = new RulesTargets([target]);
  const probe = new TargetProbe(targets, history, new AclSyncMetrics(registry, targets), timers, log, health);
  const heartbeat = new HeartbeatService(timers, log, [probe]);
  afterAll(() => heartbeat.beforeApplicationShutdown());

  const fails = (reason: TargetFailure | null): void => {
    target.failure = reason === null ? null : new RulesTargetUnavailable(reason, 'the target is in the way');
  };
  /** Health, age in seconds, and metric. */
  async function shown(): Promise<unknown[]> {
    const { parts, ages } = await health.report();
    const metric = /^grantline_acl_target_available{target="fake"} (\S+)$/m.exec(await registry.metrics())?.[1];
    return [parts['target'], ages['target'], metric];
  }
  async function aMinuteLater(): Promise<void> {
    timers.advance(60_000);
    await timers.untilWaiting();
  }

  it('checks every minute, and logs a failure once for as long as its reason stays', async () => {
    expect(await shown()).toEqual(['up', null, 'Nan']);

    heartbeat.onApplicationBootstrap();
    await timers.untilWaiting();
    expect(await shown()).toEqual(['up', 0, '1']);
    timers.advance(59_999);
    expect(await shown()).toEqual(['up', 59.999, '1']);

    fails('unreachable');
    for (let minutes = 0; minutes < 3; minutes += 1) await aMinuteLater();
    expect(await shown()).toEqual(['degraded', 0, '0']);
    expect(log.at('warn')).toEqual(['rules target check failed']);

    fails('missing');
    await aMinuteLater();
    expect(log.at('warn')).toHaveLength(2);

    fails(null);
    await aMinuteLater();
    expect(await shown()).toEqual(['up', 0, '1']);
    fails('missing');
    await aMinuteLater();
    expect(log.at('warn')).toHaveLength(3);
  });

  it('checks every ten seconds until a failure is over', async () => {
    fails('unreachable');
    await aMinuteLater();
    expect(await shown()).toEqual(['degraded', 0, '0']);
    fails(null);
    timers.advance(10_000);
    await timers.untilWaiting();
    expect(await shown()).toEqual(['up', 0, '1']);
    timers.advance(59_999);
    expect(await shown()).toEqual(['up', 59.999, '1']);
  });

  it('finds rules there that were not published', async () => {
    fails(null);
    const version = await history.beginVersion({ ...aPublication, text: 'ours' });
    await history.confirm(version, new Date(0));
    target.editByHand('ours');
    await aMinuteLater();
    expect(await shown()).toEqual(['up', 0, '1']);

    target.editByHand('by hand');
    await aMinuteLater();
    expect(await shown()).toEqual(['degraded', 0, '1']);
    target.editByHand('ours');
    await aMinuteLater();
    expect(await shown()).toEqual(['up', 0, '1']);
  });
});

const aPublication: Omit<PublicationDraft, 'text'> = {
  hash: 'a hash',
  rules: 1,
  bytes: 4,
  diff: { added: [], removed: [] },
  access: null,
  isWithdrawal: false,
  isFound: false,
  firstStepOf: null,
  highestNamed: 0,
  restored: null,
  checks: [],
  trigger: 'schedule',
  triggeredBy: null,
  snapshot: '{}',
  snapshotHash: '',
  snapshotAt: new Date(0),
  position: '0:0',
  compiler: '',
  changedAt: null,
  begunAt: new Date(0),
  isWritten: true,
  edit: null,
};
