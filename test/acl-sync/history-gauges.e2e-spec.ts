import { Registry } from 'prom-client';
import { AuditService } from '../../src/audit/audit.service.js';
import { AclSyncService, RunReportsService } from '../../src/acl-sync/acl-sync.service.js';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { PublicationHistory } from '../../src/acl-sync/domain/publication-history.js';
import { RulesTargets } from '../../src/acl-sync/domain/rules-target.js';
import { GuaranteeStore } from '../../src/grants/guarantee.store.js';
import { HeartbeatService } from '../../src/acl-sync/heartbeat.service.js';
import { Transaction } from '../../src/platform/database/transaction.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';
import { sharedService, startService } from '../support/service/service.js';
import { sharedFolder } from '../support/service/shared-folder.js';
import { until } from '../support/service/until.js';

describe('gauges of what was published', () => {
  const directory = sharedFolder('history-gauges-');
  const publisher = sharedService({ ACL_FILE_DIRECTORY: directory });

  const run = () =>
    publisher.app.get(AclSyncService).run({ trigger: 'schedule', by: { actor: null, origin: null }, lockTimeoutMs: 0 });
  const gauges = async (registry: Registry): Promise<Record<string, string>> => {
    const lines = (await registry.metrics()).matchAll(/^grantline_acl_(?!target_)(\w+)(?:{target="file"})? (\S+)$/gm);
    return Object.fromEntries(Array.from(lines, ([, name = '', value = '']) => [name, value]));
  };
  const idle = (timers: FakeTimers, log = new LogBook(), history = publisher.app.get(PublicationHistory)) => {
    const registry = new Registry();
    const reports = new RunReportsService(
      ...([history, publisher.app.get(AuditService), publisher.app.get(Transaction)] as const),
      ...([
        new AclSyncMetrics(registry, publisher.app.get(RulesTargets)),
        log,
        publisher.app.get(GuaranteeStore),
      ] as const),
    );
    return { registry, service: new HeartbeatService(timers, log, [reports]) };
  };

  it('are the same in a replica that published nothing, at its start and as time passes', async () => {
    const timers = new FakeTimers();
    const waiting = idle(timers);
    expect(await gauges(waiting.registry)).toMatchObject({ rules: 'Nan', published_version: 'Nan', live: 'Nan' });
    waiting.service.onApplicationBootstrap();
    await timers.untilWaiting();
    expect(await gauges(waiting.registry)).toMatchObject({ rules: '0', published_version: '0', live: '0' });

    expect(await run()).toMatchObject({ outcome: { kind: 'applied' } });

    const fresh = await startService({ ACL_FILE_DIRECTORY: directory }, { database: publisher.database });
    const published = await gauges(publisher.app.get(Registry));
    expect(published).toMatchObject({ published_version: '1', drift_since_timestamp_seconds: '0' });
    for (const name of ['rules', 'bytes', 'last_success_timestamp_seconds', 'last_publication_timestamp_seconds']) {
      expect([name, Number(published[name])]).toEqual([name, expect.any(Number)]);
      expect(Number(published[name])).toBeGreaterThan(0);
    }
    await until(async () => (await gauges(fresh.app.get(Registry)))['published_version'] !== 'Nan');
    expect(await gauges(fresh.app.get(Registry))).toEqual(published);
    await fresh.stop();

    timers.advance(60_000);
    await timers.untilWaiting();
    expect(await gauges(waiting.registry)).toEqual(published);
    await waiting.service.beforeApplicationShutdown();
  });

  it('stay what they were while the history cannot be read', async () => {
    const timers = new FakeTimers();
    const log = new LogBook();
    const history = publisher.app.get(PublicationHistory);
    let isBroken = false;
    const failing = new Proxy(history, {
      get: (target, name: keyof PublicationHistory) =>
        isBroken ? () => Promise.reject(new Error('no database')) : target[name].bind(target),
    });
    const { registry, service } = idle(timers, log, failing);
    service.onApplicationBootstrap();
    await timers.untilWaiting();
    const before = await gauges(registry);

    isBroken = true;
    timers.advance(60_000);
    await timers.untilWaiting();

    expect(await gauges(registry)).toEqual(before);
    expect(log.lines.map(({ message }) => message)).toEqual(['publication gauges could not be refreshed']);
    await service.beforeApplicationShutdown();
  });
});
