import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/any-snapshot.js';
import type { Snapshot } from '../model/snapshot.js';
import { compile } from './compile.js';
import { RulesTooLarge } from './text-size.js';
import { aSnapshot } from '../../../test/support/snapshot-builder.js';

describe('the least that the rules can take', () => {
  const refusal = (snapshot: Snapshot, maxBytes: number): RulesTooLarge => {
    try {
      compile(snapshot, maxBytes);
    } catch (error) {
      if (error instanceof RulesTooLarge) return error;
      throw error;
    }
    throw new Error('it was compiled');
  };

  it('is never more than they take', () => {
    fc.assert(
      fc.property(anySnapshot(), fc.double({ min: 0, max: 1, noNaN: true }), (snapshot, share) => {
        const { text } = compile(snapshot);
        const bytes = Buffer.byteLength(text);
        expect(compile(snapshot, bytes).text).toBe(text);
        try {
          compile(snapshot, Math.floor(share * bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(RulesTooLarge);
          expect((error as RulesTooLarge).atLeast).toBeLessThanOrEqual(bytes);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('counts a rule for each combination of filters, before any is written', () => {
    const names = Array.from({ length: 64 }, (_, i) => `person_${i}`);
    const builder = aSnapshot().group('all', names).may('SELECT', 'sales');
    for (let bit = 0; bit < 6; bit++)
      builder
        .group(
          `half_${bit}`,
          names.filter((_, i) => (i >> bit) % 2 === 1),
        )
        .seesOnly('sales', `region_${bit} = 'EU'`);
    const snapshot = builder.snapshot();
    const filters = JSON.stringify([...new Set(compile(snapshot).document.tables.map(({ filter }) => filter))]).length;

    const { where, combinations, atLeast } = refusal(snapshot, filters);
    expect({ where, isEarly: combinations < 64 }).toEqual({ where: '', isEarly: true });
    expect(atLeast).toBeGreaterThan(filters);
  });
});
