import type { RunOutcome } from '../../src/acl-sync/domain/publication.js';
import type { Restore } from '../../src/acl-sync/domain/restore.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const HOUR = 3600;
const GAUGE = 'grantline_acl_restored_until_timestamp_seconds';

describe('a restore', () => {
  const one = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
  const two = () => one().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');
  const withoutBo = () => aSnapshot().user('bo').group('readers', ['ana']).may('SELECT', 'sales.eu.orders');

  let sync: SyncUnderTest;
  let first: string | null;
  /** Version 1 lets people read, version 2 lets bo write too. */
  beforeEach(async () => {
    sync = new SyncUnderTest(one().snapshot());
    await sync.run();
    first = sync.target.text;
    sync.snapshot = two().snapshot();
    await sync.run();
    sync.audited.splice(0);
  });

  const by = { actor: { id: 7, username: 'admin' }, origin: null };
  const restore = (version: number, hours = 24): Promise<RunOutcome> => {
    const until = new Date(sync.clock.now().getTime() + hours * HOUR * 1000);
    const order: Restore = { version, until, reason: 'bo writes nonsense' };
    return sync.run({ trigger: 'restore', by, restore: order });
  };
  const events = () => sync.audited.map(({ event, details }) => [event, details['how']]);
  const metric = async () => (await sync.metrics.getMetricsAsJSON()).find(({ name }) => name === GAUGE)?.values;

  it('publishes the older text at once, as a version of its own, and says who did it and why', async () => {
    expect(await restore(1)).toMatchObject({
      kind: 'applied',
      publication: { version: 3, trigger: 'restore', restored: { version: 1, reason: 'bo writes nonsense' } },
      reasons: [{ code: 'restored', severity: 'info' }],
    });

    expect(sync.target.text).toBe(first);
    expect(sync.audited).toMatchObject([
      {
        event: 'publication_restored',
        actor: { username: 'admin' },
        subject: { id: '1' },
        details: { publication: 3 },
      },
      { event: 'publication_applied' },
    ]);
    expect(sync.log.at('warn')).toContain('TRINO_ACL_RESTORED');
    expect(await metric()).toMatchObject([{ value: sync.clock.now().getTime() / 1000 + 24 * HOUR }]);
  });

  it('lasts through runs and further grants, which say why they change nothing', async () => {
    await restore(1);
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [{ code: 'restored' }] });
    sync.snapshot = two().may('SELECT', 'sales.us.orders').snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [{ code: 'restored' }] });
    expect(sync.target.text).toBe(first);
    expect(sync.target.published).toHaveLength(3);
  });

  it('ends by time, and is told once', async () => {
    await restore(1, 2);
    sync.clock.advance(2 * HOUR - 1);
    expect(await sync.run()).toMatchObject({ kind: 'no_change' });
    sync.clock.advance(1);
    expect(await sync.run()).toMatchObject({
      kind: 'applied',
      publication: { version: 4, restored: null },
      reasons: [],
    });
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 4 } });
    expect(events().filter(([event]) => event === 'restore_ended')).toEqual([['restore_ended', 'time']]);
    expect(await metric()).toMatchObject([{ value: 0 }]);
  });

  it('ends with the run that finds a revoke that it contradicts', async () => {
    await restore(1);
    sync.snapshot = withoutBo().snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { restored: null } });
    expect(sync.target.text).not.toContain('bo');
    expect(events()).toContainEqual(['restore_ended', 'contradicted']);
  });

  it('is refused where it would give what is denied today, and changes nothing', async () => {
    sync.snapshot = withoutBo().snapshot();
    await sync.run();
    const live = sync.target.text;
    expect(await restore(1)).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'restore-contradicted' }],
      awaits: null,
    });
    expect(sync.target.text).toBe(live);
    expect(await sync.history.summary()).toMatchObject({ refusedSince: null });
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [] });
  });

  it('stays while today’s rules are refused, as long as nothing is withdrawn that it gives', async () => {
    await restore(1);
    sync.snapshot = withoutBo().snapshot();
    sync.preparer.tamper = (candidate) => ({
      ...candidate,
      findings: [{ code: 'proof-difference', severity: 'error', message: 'ana may too much' }],
    });
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });
    expect(sync.target.text).toBe(first);
  });

  it('is put back again after an edit by hand', async () => {
    await restore(1);
    expect(await sync.preview()).toMatchObject({ would: 'no_change', checks: [{ code: 'restored' }] });
    sync.target.editByHand('{}');
    expect(await sync.preview()).toMatchObject({ would: 'publish', drift: true, hash: sync.history.rows[0]?.hash });
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { restored: { version: 1 } } });
    expect(sync.target.text).toBe(first);
    expect(sync.target.former).toBe('{}');
  });

  it('can hold the version that is published already, and be replaced by another', async () => {
    await restore(2);
    sync.snapshot = two().may('SELECT', 'sales.us.orders').snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [{ code: 'restored' }] });
    await restore(1);
    expect(sync.target.text).toBe(first);
    expect(events()).toContainEqual(['restore_ended', 'replaced']);
  });

  it('compares what follows with the last version that was published whole', async () => {
    await restore(1, 1);
    sync.clock.advance(HOUR);
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { checks: [] } });
  });

  it('is not there where the target could not be written', async () => {
    sync.target.beforePublish = () => {
      sync.target.failure = new RulesTargetUnavailable('unreachable', 'down');
    };
    expect(await restore(1)).toMatchObject({ kind: 'failed' });
    sync.target.beforePublish = () => undefined;
    sync.target.failure = null;
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 }, reasons: [] });
    expect(events()).not.toContainEqual(['publication_restored', undefined]);
  });
});
