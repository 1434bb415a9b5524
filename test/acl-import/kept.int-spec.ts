import { keptDifferences, wholeness } from './kept-differences.js';
import { importCase, keptCases } from './published-cases.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { shareOf } from '../support/landing.js';

const KEPT = keptCases();

describe('the import of rules files as people keep them', () => {
  it.each(shareOf(KEPT))('changes no answers but those that are listed here: $name', async (kept) => {
    const { asked, kinds, examples } = await keptDifferences(kept);
    expect({ kinds, examples }).toEqual({ kinds: kept.differences, examples });
    expect(kinds).not.toContain('more: access');
    expect(asked).toBeGreaterThan(1_000);
  });

  it('takes over most of them whole', () => {
    const counts: Record<string, number> = {};
    for (const { differences } of KEPT) counts[wholeness(differences)] = (counts[wholeness(differences)] ?? 0) + 1;
    expect(counts).toEqual({ equal: 14, whole: 68, 'whole today': 52, 'in part': 24 });
  });

  it('compiles to little more text than the files have, beside what every document has', async () => {
    const sizes = await Promise.all(
      KEPT.map(async (kept) => {
        const { snapshot } = await importCase(kept);
        const empty = { ...snapshot, groups: [], grants: [], policies: [] };
        return { file: kept.rules.length, compiled: compile(snapshot).text.length - compile(empty).text.length };
      }),
    );
    const [files, compiled] = [sizes.map(({ file }) => file), sizes.map((each) => each.compiled)].map((all) =>
      all.reduce((sum, size) => sum + size),
    );
    expect((compiled ?? NaN) / (files ?? NaN)).toBeLessThan(1.2);
  });
});
