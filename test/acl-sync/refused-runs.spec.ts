import type { AuditEntry } from '../../src/audit/domain/audit-event.js';
import { aSnapshot } from '../support/snapshot-builder.js';
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

  it('closes nodes that cannot be compiled any more to the principals that lost access', async () => {
    sync.preparer.tamper = () => {
      throw new Error('out of memory');
    };
    sync.preparer.canCompile = false;

    expect(await sync.run()).toMatchObject({
      ...withdrawn,
      publication: { checks: [{ code: 'closed-instead', severity: 'warning' }] },
    });

    expect(sync.target.text).toContain(
      '{"user":"ana","catalog":"sales","schema":"eu","table":"orders","privileges":[]}',
    );
    expect(sync.target.text).toContain('{"user":"ana","allow":"none"}');
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });

    sync.preparer.tamper = (candidate) => candidate;
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { isWithdrawal: false } });
    expect(sync.target.text).not.toContain('ana');
  });
});
