import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import type { Snapshot } from '../model/snapshot.js';
import { compile } from './compile.js';
import { RulesTooLarge } from './text-size.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';

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
      { numRuns: 200 },
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

    const { most, atLeast } = refusal(snapshot, filters);
    expect({ where: most.where, isEarly: most.rules < 64 }).toEqual({ where: '', isEarly: true });
    expect(atLeast).toBeGreaterThan(filters);
  });

  it('counts the names of rules for one person each, before any is covered', () => {
    const tables = Array.from({ length: 60 }, (_, i) => `table_${i % 7}${i}`);
    const builder = aSnapshot();
    for (let i = 0; i < 20; i++) {
      builder.group(`only_${i}`, [`person_${i}`]).seesOnly('sales', `owner = ${i}`);
      for (const table of tables.filter((_, j) => (i + j) % 3 > 0)) builder.may('SELECT', `sales.eu.${table}`);
    }
    const snapshot = builder.snapshot();
    const rules = compile(snapshot).document.tables.filter(({ table }) => table?.includes('table') === true);
    const bytes = rules.reduce((sum, rule) => sum + JSON.stringify(rule).length, 0);

    const { most, atLeast } = refusal(snapshot, Math.floor(0.8 * bytes));
    expect(most).toEqual({ where: 'sales.eu', rules: 20 });
    // Covered, they would be counted together.
    expect(atLeast).toBeLessThan(0.8 * bytes + Math.max(...rules.map((rule) => JSON.stringify(rule).length)));
  });

  it('is known by the parent with most rules', () => {
    const snapshot = aSnapshot().group('g', ['ana']).may('SELECT', 'sales.eu.a').may('INSERT', 'sales.eu.b').snapshot();
    expect(compile(snapshot).largest).toEqual({ where: 'sales.eu', rules: 2 });
  });
});
