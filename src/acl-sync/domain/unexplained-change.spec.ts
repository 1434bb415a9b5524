import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import { readSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { prepare } from './candidate.js';
import { prepareWithdrawal } from './prepared-withdrawal.js';
import { databaseBehindFinding, type PreviousState, writtenSnapshot } from './unexplained-change.js';
import { documentOf } from '../../trino-rules/document/rules-reader.js';

describe('the effective snapshot', () => {
  it('gives the same rules as the whole snapshot, and can be parsed back', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        expect(compile(effectiveSnapshot(snapshot)).text).toBe(compile(snapshot).text);
        const written: unknown = JSON.parse(writtenSnapshot(snapshot));
        const reading = readSnapshot(written, snapshot);
        expect(reading).toMatchObject({ kind: 'read' });
        if (reading.kind === 'read') expect(writtenSnapshot(reading.snapshot)).toBe(JSON.stringify(written));
      }),
    );
  });
});

describe('rules behind a found version', () => {
  it('are refused with the hash to approve where they change access, and not where they give the same', () => {
    const rules = (path: string) => {
      const { text } = compile(aSnapshot().user('ana').may('SELECT', path).snapshot());
      return { text, snapshot: '' };
    };
    expect(databaseBehindFinding(rules('sales'), rules('sales'), 'a-hash')).toBeNull();
    expect(databaseBehindFinding(rules('hr'), rules('sales'), 'a-hash')).toMatchObject({
      code: 'database-behind',
      severity: 'error',
      message: expect.stringContaining('approved the change a-hash') as string,
    });
  });
});

describe('a version of OPA alone behind a found version', () => {
  it('always waits, because the access of the found version is not known', () => {
    const nothing = { text: null, snapshot: writtenSnapshot(aSnapshot().snapshot()) };
    expect(databaseBehindFinding({ text: '', snapshot: '' }, nothing, 'a-hash')).toMatchObject({
      code: 'database-behind',
      message: expect.stringContaining('approved the change a-hash') as string,
    });
  });
});

describe('another build of the compiler', () => {
  const tables = Array.from({ length: 60 }, (_, i) => `sales.eu.t${i}`);
  const granting = (...paths: string[]) =>
    paths.reduce((builder, path) => builder.may('SELECT', path), aSnapshot().user('ana')).snapshot();
  /** A publication in which another build compiled `rules` for `snapshot`. */
  const published = (snapshot: Snapshot, rules: Snapshot, compiler = 'another build'): PreviousState => {
    const { text, hash } = compile(rules);
    const baseline = {
      text,
      hash,
      snapshot: writtenSnapshot(snapshot),
      at: NOW,
      position: '0:0',
      compiler,
      approved: [],
      isFound: false,
    };
    return { baseline, publishedAccess: baseline, events: [], settledAt: NOW };
  };
  const prepared = (snapshot: Snapshot, previous: PreviousState) =>
    prepare(
      { snapshot, position: '0:0', previous, limits: { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 } },
      'this build',
    );
  const withdrawnFrom = (snapshot: Snapshot, previous: PreviousState) => {
    const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
    return prepareWithdrawal({ snapshot, position: '0:0', previous, limits }, 'this build', {
      how: 'compiled',
      changes: 'recorded',
    });
  };
  const whole = granting('sales', ...tables.map((table) => table.replace('sales', 'hr')));
  const half = granting('sales');

  it('gives no finding when it gives the same access', () => {
    const next = { ...whole, users: whole.users.map((user) => ({ ...user, isActive: false })) };
    const deactivated = {
      event: 'account_deactivated',
      subject: { type: 'user', id: '1', name: null },
      details: {},
      at: NOW,
    } as const;
    const { findings } = prepared(next, { ...published(whole, whole), events: [deactivated] });
    expect(findings).toEqual([]);
  });

  it('waits for an approval when it gives much more, or much less, for the same snapshot', () => {
    for (const [snapshot, rules] of [
      [whole, half],
      [half, whole],
    ] as const) {
      const previous = published(snapshot, rules);
      const { findings, hash } = prepared(snapshot, previous);
      expect(findings).toMatchObject([{ code: 'unexplained-change', severity: 'error' }]);
      expect(withdrawnFrom(snapshot, previous)?.text).toBe(compile(rules).text);
      const approved = { ...previous, baseline: { ...previous.baseline, approved: [hash] } };
      expect(prepared(snapshot, approved).findings).toMatchObject([{ code: 'approved-change', severity: 'info' }]);
    }
  });

  it('waits for an approval when it closes what another build left to those who only read', () => {
    const open = { ...whole, settings: { ...whole.settings, readersMaintain: true } };

    const { findings, access } = prepared(whole, published(whole, open));

    expect(findings).toMatchObject([{ code: 'unexplained-change', severity: 'error' }]);
    expect(access?.lost.map(({ what }) => what)).toContainEqual(expect.stringMatching(/^run table procedures/));
  });

  it('is published with a warning when it changes little', () => {
    const { findings } = prepared(granting(...tables.slice(0, 40)), published(half, granting(...tables.slice(0, 41))));
    expect(findings).toEqual([
      {
        code: 'unexplained-change',
        severity: 'warning',
        message: expect.stringMatching(
          /^no recorded change explains this, and it is small enough to pass: \d+ of \d+ pairs of a principal and a node change \(/,
        ) as string,
      },
    ]);
  });

  it('counts from the first unpublished change, recorded or an expiry', () => {
    const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
    const ending = { ...whole, grants: whole.grants.map((grant) => ({ ...grant, expiresAt: later(20) })) };
    const previous = published(ending, ending);
    const member = { event: 'member_added', subject: { type: 'group', id: '1', name: null }, details: {} } as const;
    const events = [later(-1), later(30), later(40)].map((at) => ({ ...member, at }));
    expect(prepared({ ...ending, at: later(50) }, { ...previous, events }).changedAt).toEqual(later(20));
    expect(prepared({ ...half, at: later(50) }, { ...published(whole, whole), events }).changedAt).toEqual(later(30));
    expect(prepared({ ...half, at: later(50) }, published(whole, whole)).changedAt).toBeNull();
    // What happened at the instant of the last run was in its snapshot; what expires at this one's has expired.
    const before = { ...published(whole, whole), events: [{ ...member, at: NOW }] };
    expect(prepared({ ...half, at: later(50) }, before).changedAt).toBeNull();
    expect(prepared({ ...ending, at: later(20) }, previous).changedAt).toEqual(later(20));
  });

  it('publishes no new access while it waits for an approval', () => {
    const next = { ...whole, grants: whole.grants.slice(0, -1) };
    const revoked = {
      event: 'grant_revoked',
      subject: { type: 'grant', id: '61', name: null },
      details: {},
      at: NOW,
    } as const;
    const previous = { ...published(whole, half), events: [revoked] };
    expect(prepared(next, previous).findings).toMatchObject([{ code: 'unexplained-change' }]);
    const reduced = withdrawnFrom(next, previous);
    expect(reduced?.findings).toMatchObject([{ code: 'closed-instead', severity: 'warning' }]);
    expect(compareAccess(compile(half).document, documentOf(reduced?.text ?? ''))).toMatchObject({ gainedInAll: 0 });
  });
});
