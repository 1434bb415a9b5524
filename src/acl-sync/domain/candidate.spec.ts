import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { type Candidate, explainUndecided, prepare } from './candidate.js';

const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

function prepared(snapshot: Snapshot, { bytes = null as number | null, warnTableRules = 3000 } = {}): Candidate {
  const limits = { bytes, maxUnexplainedPercent: 5, warnTableRules };
  return prepare({ snapshot, position: '0:0', previous: null, limits }, 'a build');
}

describe('a candidate for publication', () => {
  it('counts its rules and bytes', () => {
    const { rules, bytes, ...candidate } = prepared(aSnapshot().user('björn').may('SELECT', 'sales').snapshot());
    const text = String(candidate.text);
    expect(rules).toBe(text.split('\n').filter((line) => line.startsWith('{"')).length);
    expect(bytes).toBe(Buffer.from(text).length);
    expect(bytes).toBeGreaterThan(text.length);
  });

  it('is compared with rules of another that it is the first to replace, for accounts in their groups', () => {
    const snapshot = aSnapshot()
      .user('cyn')
      .may('SELECT', 'lake.eu.orders')
      .seesOnly('lake.eu.orders', 'id < 9')
      .group('readers', ['ana'])
      .user('ben')
      .may('SELECT', 'sales.eu')
      .snapshot();
    const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
    const over = (foreign?: string) =>
      prepare(
        { snapshot, position: '0:0', previous: null, limits, ...(foreign !== undefined && { foreignText: foreign }) },
        'a build',
      ).access;
    const access = over(
      `{ "catalogs": [{ "user": "cyn", "catalog": "lake", "allow": "read-only" }, { "group": "readers", "catalog": "sales", "allow": "read-only" }],
        "schemas": [], "tables": [
        { "user": "cyn", "catalog": "lake", "schema": "eu", "table": "orders", "privileges": ["SELECT"], "filter": "id < 9" },
        { "group": "readers", "catalog": "sales", "privileges": ["SELECT"] }],
        "queries": [{ "allow": ["execute"] }] }`,
    );
    const selected = (changes: { what: string; people: string[] }[] = []) =>
      changes.filter(({ what }) => what.startsWith('SELECT from sales.')).map(({ people }) => people);
    expect(new Set(selected(access?.gained).flat())).toEqual(new Set(['ben']));
    expect(new Set(selected(access?.lost).flat())).toEqual(new Set(['ana']));
    // A filter that stays is no change.
    expect(JSON.stringify(access)).not.toContain('id < 9');
    expect([over(), over('no rules'), over('{"tables": [{ "user": 1 }]}')]).toEqual([null, null, null]);
  });

  it('warns of more table rules than the engine scans fast', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu').snapshot();
    expect(prepared(snapshot).findings).toEqual([]);
    expect(prepared(snapshot, { warnTableRules: 1 }).findings).toMatchObject([
      { code: 'many-table-rules', severity: 'warning' },
    ]);
  });

  it('has the same digest for equal input at another time', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales').snapshot();
    const digest = prepared(snapshot).snapshotHash;
    expect(prepared({ ...snapshot, at: later(60) }).snapshotHash).toBe(digest);
    expect(prepared(aSnapshot().user('ana').may('INSERT', 'sales').snapshot()).snapshotHash).not.toBe(digest);
  });

  it('names the remedy when the rules are too large for the target', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales').snapshot();
    const { bytes } = prepared(snapshot);
    expect(prepared(snapshot, { bytes }).findings).toEqual([]);
    expect(prepared(snapshot, { bytes: bytes - 1 }).findings).toEqual([
      {
        code: 'too-large',
        severity: 'error',
        message: expect.stringMatching(
          /^the rules take [\d,]+ bytes; the target holds [\d,]+\. Give fewer grants to single people .*ACL_TARGET=file/,
        ) as string,
      },
    ]);
  });

  it('says which policies make rules that cannot fit', () => {
    const names = Array.from({ length: 64 }, (_, i) => `person_${i}`);
    const builder = aSnapshot().group('all', names).may('SELECT', 'sales');
    for (let bit = 0; bit < 6; bit++) {
      const half = names.filter((_, i) => (i >> bit) % 2 === 1);
      builder.group(`half_${bit}`, half).seesOnly('sales.eu', `region_${bit} = 'EU'`);
    }
    const { findings, text } = prepared(builder.snapshot(), { bytes: 4_000 });
    expect(text).toBe('');
    expect(findings).toEqual([
      {
        code: 'too-large',
        severity: 'error',
        message: expect.stringMatching(
          /^the rules take at least \d,\d\d\d bytes; the target holds 4,000[.] .* At least \d+ rules are needed in sales, one for each combination of privileges, filters, masks and hidden columns; 6 policies make them \(ids 1, 2, 3, 4, 5, 6\): let fewer of them reach the same people/,
        ) as string,
      },
    ]);
  });
});

describe('rules that are too many to be proved', () => {
  const { policies } = aSnapshot()
    .group('readers', ['ana'])
    .seesOnly('sales.eu', "region = 'EU'")
    .seesOnly('sales.eu.orders', "state = 'open'")
    .seesOnly('sales.us', "region = 'US'")
    .snapshot();
  const finding = { code: 'proof-undecided', severity: 'error', message: 'nothing is proved' } as const;
  const largest = { parent: 'sales.eu', rulesInAll: 3_000 };

  it('are explained by the policies at the parent that has most of them', () => {
    expect(explainUndecided(finding, largest, policies).message).toMatch(
      /^nothing is proved[.] 3000 rules are needed in sales[.]eu, one for each .*; 2 policies make them \(ids 1, 2\): let fewer/,
    );
    expect(explainUndecided(finding, largest, []).message).toMatch(/hidden columns$/);
  });

  it('are not, where a pattern of one rule is the reason', () => {
    const ofRule = { ...finding, rule: 'tables[1]' };
    expect(explainUndecided(ofRule, largest, policies)).toBe(ofRule);
  });
});
