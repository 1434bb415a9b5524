import fc from 'fast-check';
import { anySnapshot } from '../../test/support/snapshots/any-snapshot.js';
import { readYamlText, structuredText } from './structured-file.js';
import { effectiveSnapshot } from '../trino-rules/model/effective-snapshot.js';
import { exportSnapshot } from '../trino-rules/model/snapshot-export.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { readAccessFile } from '../grants/domain/access-file.js';
import { changesBetween } from '../grants/domain/snapshot-changes.js';

const pieces = [
  '\n',
  '\r\n',
  '\t',
  '#',
  ': ',
  '- ',
  ' ',
  '  ',
  '"',
  "'",
  '\\',
  '😀',
  '\u0085',
  '\u2028',
  '\ufeff',
  '|',
  '>',
  '%',
  '&a',
  '*a',
];
const words = [
  'yes',
  'null',
  '~',
  '1e3',
  '0x1',
  '.inf',
  '<<',
  '---',
  '...',
  '2026-01-01',
  '!tag',
  '[]',
  '{}',
  '@',
  '`',
  '',
];
const description = fc.oneof(
  fc.constantFrom(...words),
  fc.array(fc.constantFrom(...pieces, ...words, 'x'), { maxLength: 8 }).map((all) => all.join('')),
  fc.string({ unit: 'binary' }).filter((text) => !/[\0\p{Cs}]/u.test(text)),
);

describe('an exported snapshot', () => {
  it.each([
    ['JSON', (file: unknown): unknown => JSON.parse(JSON.stringify(file, null, 2))],
    [
      'YAML',
      (file: unknown): unknown => {
        const { value, faults } = readYamlText(structuredText(file, 'yaml'));
        expect(faults).toEqual([]);
        return value;
      },
    ],
  ])('is read as the same access, to the byte: %s', (_, throughText) => {
    fc.assert(
      fc.property(anySnapshot(), fc.array(description, { minLength: 1 }), (any, texts) => {
        const recorded = withoutEqualGrants(effectiveSnapshot(any));
        const describe = (rows: readonly { id: number }[]) =>
          new Map(rows.map(({ id }) => [id, texts[id % texts.length] ?? '']));
        const { groups, grants, policies } = recorded;
        const descriptions = {
          groups: describe(groups),
          grants: describe(grants),
          policies: describe(policies),
          guarantees: new Map(),
        };
        const file = exportSnapshot(recorded, descriptions);
        const read = throughText(file);
        expect(JSON.stringify(read)).toBe(JSON.stringify(file));

        const reading = readAccessFile(read, recorded);
        if (reading.kind === 'refused') throw new Error(JSON.stringify(reading.problems));
        const again = reading.file;
        expect(exportSnapshot(again.snapshot, again.descriptions)).toEqual(file);
        expect(
          changesBetween({ snapshot: recorded, descriptions }, again, { mustPrune: true, managedGroupIds: new Set() }),
        ).toEqual({
          groups: [],
          grants: [],
          policies: [],
          guarantees: [],
          managedGroups: [],
        });
      }),
      { numRuns: 60 },
    );
  });
});

/** The database has none: granting is idempotent. */
function withoutEqualGrants(snapshot: Snapshot): Snapshot {
  const byTerms = snapshot.grants.map((grant) => [JSON.stringify({ ...grant, id: 0 }), grant] as const);
  return { ...snapshot, grants: [...new Map(byTerms).values()] };
}

describe('a text in YAML', () => {
  it.each([
    ' \n',
    '\n',
    ' ',
    ' \n \n',
    'a\n',
    '  a\nb',
    'a\n b\n\n',
    '\t\n',
    '.inf  ',
    '1 ',
    ' null',
    '.inf\u2028  ',
    '1\u2028',
    '\ufeffnull',
    '1\u0085',
    '\u2028',
  ])('%j is read as it is written, last or not', (text) => {
    for (const file of [{ text }, { text, more: 1 }, [text]])
      expect(readYamlText(structuredText(file, 'yaml'))).toEqual({ value: file, faults: [] });
  });

  it('of several lines stays a block', () => {
    expect(structuredText({ text: 'a\nb' }, 'yaml')).toBe('text: |-\n  a\n  b');
  });
});
