import type { AuditEntry } from '../../src/audit/domain/audit-event.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const REFUSED = { code: 'proof-difference', severity: 'error', message: 'bo may too much' } as const;

describe('a run that is refused', () => {
  const whole = () => aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').user('bo').may('SELECT', 'hr.pay');
  let sync: SyncUnderTest;
  beforeEach(async () => {
    sync = new SyncUnderTest(whole().snapshot());
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
    // Recorded, with a change beside it that is refused.
    sync.snapshot = { ...sync.snapshot, grants: sync.snapshot.grants.slice(1) };
    sync.audited.push(revoked('1'));
  });

  const revoked = (id: string): AuditEntry => ({
    event: 'grant_revoked',
    actor: null,
    origin: null,
    subject: { type: 'grant', id, name: null },
    details: {},
  });
  const withdrawn = { kind: 'refused', publication: { version: 2, isWithdrawal: true } };

  it.each([
    ['because its proof fails', () => (sync.preparer.tamper = (candidate) => ({ ...candidate, findings: [REFUSED] }))],
    [
      'because its rules do not fit',
      () =>
        (sync.preparer.tamper = (candidate) => ({
          ...candidate,
          findings: [{ ...REFUSED, code: 'too-large' }],
        })),
    ],
    [
      'because its preparation breaks down',
      () =>
        (sync.preparer.tamper = () => {
          throw new Error('out of memory');
        }),
    ],
  ])('%s holds back no revoke', async (_, harm) => {
    harm();

    expect(await sync.run()).toMatchObject(withdrawn);

    expect(sync.target.text).not.toContain('ana');
    expect(sync.target.text).toContain('bo');
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });
  });

  it('shuts those out who lost access, where it cannot be compiled any more', async () => {
    sync.preparer.tamper = () => {
      throw new Error('out of memory');
    };
    sync.preparer.canCompile = false;

    expect(await sync.run()).toMatchObject({
      ...withdrawn,
      publication: { checks: [{ code: 'closed-instead', severity: 'warning' }] },
    });

    expect(sync.target.text).toContain('{"user":"ana","privileges":[]}');
    expect(sync.target.text).toContain('{"user":"ana","allow":"none"}');
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });

    sync.preparer.tamper = (candidate) => candidate;
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { isWithdrawal: false } });
    expect(sync.target.text).not.toContain('ana');
  });

  it('reports each edit by hand that its withdrawal overwrites', async () => {
    sync.preparer.tamper = (candidate) => ({ ...candidate, findings: [REFUSED] });
    for (const found of [1, 2]) {
      sync.target.editByHand('by hand');
      await sync.run();
      expect(sync.target.former).toBe('by hand');
      expect((await sync.history.summary()).lastRun).toMatchObject({
        outcome: 'refused',
        drift: { overwritten: true },
      });
      expect(sync.audited.filter(({ event }) => event === 'drift_found')).toHaveLength(found);
    }
  });

  it('stays in the status with its reasons while runs fail and restores are requested', async () => {
    const reason = { ...REFUSED, code: 'unexplained-change' };
    sync.preparer.tamper = (candidate) => ({ ...candidate, findings: [reason] });
    await sync.run();
    const { waiting } = (await sync.history.summary()).lastRun ?? {};
    expect(waiting).toMatchObject({ since: sync.clock.now(), reasons: [reason] });

    sync.clock.advance(60);
    sync.target.failure = new RulesTargetUnavailable('unreachable', 'no answer');
    expect(await sync.run()).toMatchObject({ kind: 'failed' });
    expect((await sync.history.summary()).lastRun?.waiting).toEqual(waiting);
    sync.target.failure = null;
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    const restore = { version: 1, until, reason: 'a test' };
    expect(await sync.run({ trigger: 'restore', restore })).toMatchObject({
      reasons: [{ code: 'restore-contradicted' }],
    });
    expect((await sync.history.summary()).lastRun?.waiting).toEqual(waiting);
  });
});
