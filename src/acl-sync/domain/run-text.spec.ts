import { at, aVersion } from '../../../test/support/snapshots/a-version.js';
import type { RunFailure, RunOutcome } from './publication.js';
import { findingLines, runLines } from './run-text.js';

const runText = (...run: Parameters<typeof runLines>): string => runLines(...run).join('\n');

const published = aVersion(7, { hash: 'aaaaaaaa' });
const refused = (awaits: string | null, publication: typeof published | null = null): RunOutcome => ({
  kind: 'refused',
  reasons: [{ code: 'too-large', severity: 'error', message: 'the rules are too large' }],
  awaits,
  publication,
});
const failed = (auditId: string | null) => {
  const failure: RunFailure = { reason: 'forbidden', message: 'no patch of the object', auditId, cause: null };
  return runText({ kind: 'failed', failure }, { published, now: at(0) });
};

describe('the text of a run', () => {
  it('counts what it published', () => {
    const publication = aVersion(8, { hash: 'bbbbbbbb', diff: { added: ['a', 'b'], removed: ['c'] } });
    expect(runText({ kind: 'applied', publication, reasons: [] }, { published, now: at(9) })).toBe(
      'TRINO_ACL_SYNC_APPLIED  version 8 (bbbbbb): 3 rules, 6 bytes, 2 added, 1 removed',
    );
  });

  it('tells what is known of a run elsewhere', () => {
    const { diff: _, ...publication } = aVersion(8, { hash: 'bbbbbbbb' });
    expect(runText({ kind: 'applied', publication, reasons: [] })).toBe(
      'TRINO_ACL_SYNC_APPLIED  version 8 (bbbbbb): 3 rules, 6 bytes',
    );
    expect(runText(refused(null))).toContain('; the live rules stay\n');
  });

  it('names the version that stays where nothing changed', () => {
    expect(runText({ kind: 'no_change', publication: published, reasons: [] }, { published, now: at(9) })).toBe(
      'TRINO_ACL_SYNC_NO_CHANGE  version 7 (aaaaaa) matches the grants',
    );
  });

  it.each([
    [
      'rules that cannot be published',
      refused(null),
      published,
      'the new rules cannot be published; the live rules stay (aaaaaa, 4 min old)',
    ],
    [
      'the same before the first publication',
      refused(null),
      null,
      'the new rules cannot be published; nothing has been published yet',
    ],
    [
      'a change that waits',
      refused('hash'),
      published,
      'an unexplained change waits for an approval; the live rules stay (aaaaaa, 4 min old)',
    ],
    [
      'a change that waits while revoked access is withdrawn',
      refused('hash', aVersion(8, { hash: 'bbbbbbbb' })),
      published,
      'an unexplained change waits for an approval; what was taken away is published (version 8, bbbbbb)',
    ],
  ])('gives the consequence and the reasons of %s', (_, outcome, latest, consequence) => {
    expect(runText(outcome, { published: latest, now: at(9.99) })).toBe(
      `TRINO_ACL_SYNC_REFUSED  ${consequence}\n  the rules are too large  [too-large]`,
    );
  });

  it('has the audit id of a failure where the API server gave one', () => {
    expect(failed('a-1')).toBe('TRINO_ACL_SYNC_FAILED  forbidden: no patch of the object (audit id a-1)');
    expect(failed(null)).toBe('TRINO_ACL_SYNC_FAILED  forbidden: no patch of the object');
  });
});

describe('the text of a finding', () => {
  it('has its severity unless it is an error, and the rule with its witness below', () => {
    const found = { code: 'dead-rule', severity: 'warning', message: 'never applies' } as const;
    expect(findingLines(found).join('\n')).toBe('  warning: never applies  [dead-rule]');
    expect(findingLines({ ...found, rule: 'tables[3]' }).join('\n')).toBe(
      '  warning: never applies  [dead-rule]\n    tables[3]',
    );
    expect(findingLines({ ...found, severity: 'error', rule: 'tables[3]', witness: '{"user":"ana"}' }).join('\n')).toBe(
      '  never applies  [dead-rule]\n    tables[3]  {"user":"ana"}',
    );
  });
});
