import { checkFile } from '../../src/commands/check/check-file.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SIZES, skewedSnapshot } from '../support/snapshots/skewed-snapshot.js';
import { type CorpusCase, corpusCases, listed } from './corpus-cases.js';

const NO_SETTINGS = { serviceAccounts: [], writableCatalogs: [], readableCatalogs: [], metadataCatalog: null };

async function found(each: CorpusCase, text: string): Promise<string[]> {
  const { findings } = await checkFile('corpus', Buffer.from(text), NO_SETTINGS);
  return listed(each, findings)
    .map(({ line, column, code }) => `${line}:${column} ${code}`)
    .sort();
}

describe('acl check', () => {
  const cases = corpusCases();

  it('is tried on at least 200 files', () => {
    expect(cases.length).toBeGreaterThanOrEqual(200);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  it.each(cases.map((each) => [each.name, each] as const))('%s', async (_, each) => {
    expect(await found(each, each.text)).toEqual([...each.expected].sort());
  });

  it('finds the same at the same places in lines that end as on Windows', async () => {
    for (const each of cases) {
      const windows = await found(each, each.text.replaceAll('\n', '\r\n'));
      expect({ name: each.name, found: windows }).toEqual({ name: each.name, found: [...each.expected].sort() });
    }
  });

  it('finds nothing in what Grantline publishes', async () => {
    const few = aSnapshot().group('readers', ['ana', 'ben']).may('SELECT', 'lake.eu').snapshot();
    for (const snapshot of [few, skewedSnapshot(SIZES.team, 'numbered')]) {
      const settings = { ...NO_SETTINGS, ...snapshot.settings };
      const { findings } = await checkFile('rules.json', Buffer.from(compile(snapshot).text), settings);
      expect(findings).toEqual([]);
    }
  });
});
