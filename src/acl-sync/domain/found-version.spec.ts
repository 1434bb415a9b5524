import { createHash } from 'node:crypto';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { diffRules } from '../../trino-rules/diff/rules-diff.js';
import { ruleCount } from '../../trino-rules/document/rules-document.js';
import { baselineOfFound, draftOfFound, findVersionAtTargets } from './found-version.js';
import type { Baseline } from './unexplained-change.js';

const namedVersion = { generation: 9, hash: 'f00' };

describe('a version at the target', () => {
  it('is found where it has another text than the last one of this history', () => {
    expect(findVersionAtTargets([{ text: 'theirs', namedVersion }], { text: 'ours' })).toEqual({
      version: 9,
      hash: 'f00',
      text: 'theirs',
    });
    expect(findVersionAtTargets([{ text: 'theirs', namedVersion }], null)).toMatchObject({ version: 9 });
  });

  it.each([null, 'al\0ice'])('has no text where that is %j, which no version holds', (text) => {
    expect(findVersionAtTargets([{ text, namedVersion }], null)).toMatchObject({ text: '' });
  });

  it.each<[string, Parameters<typeof findVersionAtTargets>]>([
    ['no number', [[{ text: 'by hand' }], { text: 'ours' }]],
    ['the last text, whatever its number', [[{ text: 'ours', namedVersion }], { text: 'ours' }]],
    ['no text, like the last one', [[{ text: null, namedVersion }], { text: '' }]],
  ])('is known where it has %s', (_, given) => {
    expect(findVersionAtTargets(...given)).toBeNull();
  });
});

describe('a found version', () => {
  const [then, now] = [new Date('2026-11-20T11:00:00.000Z'), new Date('2026-11-20T12:00:00.000Z')];
  const { text, document } = compile(aSnapshot().user('björn').may('SELECT', 'sales').snapshot());
  const found = { version: 9, hash: 'f00', text };
  const known: Baseline = {
    text: 'ours',
    hash: 'ba5e',
    snapshot: '{"version":1}',
    at: then,
    position: '7:3',
    compiler: 'a build',
    approved: ['f00'],
    isFound: false,
  };

  it('is measured from the last snapshot that this history knows, without its approvals', () => {
    const { snapshot, at, position } = known;
    expect(baselineOfFound(found, known, now)).toEqual({
      ...{ text, hash: 'f00', snapshot, at, position },
      ...{ compiler: '', approved: [], isFound: true },
    });
  });

  it('is measured from its finding where this history knows no snapshot', () => {
    expect(baselineOfFound(found, null, now)).toMatchObject({ snapshot: '', at: now, position: '0:0' });
  });

  it('is recorded as the next version, live already and made by no account', () => {
    const digest = createHash('sha256').update(known.snapshot).digest('hex');
    const draft = draftOfFound(found, known, { text: '{}' }, 'schedule', now);

    expect(draft).toEqual({
      ...{
        text,
        hash: 'f00',
        rules: ruleCount(document),
        bytes: Buffer.byteLength(text),
        trigger: 'schedule',
        triggeredBy: null,
      },
      diff: diffRules('{}', text),
      ...{ snapshot: known.snapshot, snapshotHash: digest, snapshotAt: then, position: '7:3', compiler: '' },
      ...{ access: null, checks: [], changedAt: null, restored: null, edit: null },
      ...{ isFound: true, isWithdrawal: false, firstStepOf: null, isWritten: false, begunAt: now, highestNamed: 8 },
    });
  });
});
