import { checkRuleCount, checkCapacity } from './target-capacity.js';

const LIMIT = 1_048_576;

describe('the size of rules', () => {
  it.each<[string, { next: number; former: number; gzip?: number }, number | null, string[]]>([
    ['half of it gives no warning', { next: 300_000, former: 300_000 }, LIMIT, []],
    ['no limit, no matter', { next: 30_000_000, former: 30_000_000 }, null, []],
    ['60 % give no warning', { next: 314_572, former: 314_573 }, LIMIT, []],
    ['more is a warning', { next: 329_146, former: 300_000, gzip: 300_000 }, LIMIT, ['warning nearly-too-large']],
    ['compressible rules give no warning', { next: 400_000, former: 400_000 }, LIMIT, []],
    ['exactly as text', { next: 524_288, former: 524_288 }, LIMIT, []],
    ['one byte more is compressed', { next: 524_288, former: 524_289 }, LIMIT, []],
    ['nearly all of it', { next: 900_000, former: 900_000 }, LIMIT, ['warning nearly-too-large']],
    ['too much', { next: 930_000, former: 930_000 }, LIMIT, ['error too-large']],
    [
      'a small former text does not hide that the next run would not fit',
      { next: 930_000, former: 1_000 },
      LIMIT,
      ['error too-large'],
    ],
    [
      'a large former text that compresses badly',
      { next: 600_000, former: 900_000, gzip: 460_000 },
      LIMIT,
      ['error too-large'],
    ],
  ])('%s', (_name, { next, former, gzip }, limit, expected) => {
    const sizes = {
      nextBytes: next,
      formerBytes: former,
      compressedNextBytes: () => Math.ceil(next / 7),
      compressedFormerBytes: () => gzip ?? Math.ceil(former / 7),
    };
    expect(checkCapacity(sizes, limit).map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
  });

  it('compresses nothing where there is room', () => {
    const never = (): number => {
      throw new Error('not needed');
    };
    expect(
      checkCapacity({ nextBytes: 1, formerBytes: 1, compressedNextBytes: never, compressedFormerBytes: never }, LIMIT),
    ).toEqual([]);
  });

  it('names the remedy', () => {
    const findings = checkCapacity(
      { nextBytes: 2_000_000, formerBytes: 0, compressedNextBytes: () => 300_000, compressedFormerBytes: () => 0 },
      LIMIT,
    );
    expect(findings[0]?.message).toBe(
      'the rules take 2,000,000 bytes, and the former ones beside them 300,000 even when compressed; the target holds 1,048,576. ' +
        'Give fewer grants to single people and more to groups, on schemas rather than on tables; or publish to a file ' +
        '(ACL_TARGET=file) or decide by OPA alone (ACL_TARGET=opa), which have no limit',
    );
  });

  it('counts rules from a budget on, with what they cost', () => {
    expect(checkRuleCount(3000, 3000)).toEqual([]);
    expect(checkRuleCount(5012, 3000)).toEqual([
      {
        code: 'many-table-rules',
        severity: 'warning',
        message:
          'there are 5,012 table rules (a warning is due from 3,000): the engine scans them for each object that it lists, ' +
          'which is about 2.7 s of CPU time for a listing of 1,000 tables',
      },
    ]);
  });
});
