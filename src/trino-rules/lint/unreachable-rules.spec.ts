import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { compile } from '../compile/compile.js';
import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import { NO_RULES, type RulesDocument, type TableRule } from '../document/rules-document.js';
import { UserUniverse } from '../engine/user-universe.js';
import { unreachableRules } from './unreachable-rules.js';

describe('unreachable rules', () => {
  it.each<[string, Omit<TableRule, 'privileges'>[], string | null]>([
    [
      'the same rule again',
      [
        { user: 'ana', catalog: 'a' },
        { user: 'ana', catalog: 'a' },
      ],
      'for example tables[0] for ana and a.anybody.anybody',
    ],
    [
      'a narrower one behind a wider',
      [{ catalog: 'a' }, { user: 'ana', catalog: 'a', schema: 's' }],
      'for example tables[0] for ana and a.s.anybody',
    ],
    ['a wider one behind a narrower', [{ user: 'ana', catalog: 'a', schema: 's' }, { catalog: 'a' }], null],
    [
      'a union of two people',
      [{ user: 'ana' }, { user: 'bo' }, { user: 'ana|bo', table: 't' }],
      'for example tables[0] for ana and anybody.anybody.t',
    ],
    ['one person more', [{ user: 'ana' }, { user: 'bo' }, { user: 'ana|bo|cy', table: 't' }], null],
    [
      'a product that two others cover crosswise',
      [
        { user: 'ana', schema: 's' },
        { user: 'bo', schema: 't' },
        { user: 'ana|bo', schema: 's|t' },
      ],
      null,
    ],
  ])('%s', (_name, tables, message) => {
    const findings = judged({ ...NO_RULES, tables: tables.map((rule) => ({ ...rule, privileges: [] })) });
    if (message === null) expect(findings).toEqual([]);
    else
      expect(findings).toMatchObject([{ code: 'dead-rule', severity: 'error', rule: `tables[${tables.length - 1}]` }]);
    expect(findings[0]?.message ?? '').toContain(message ?? '');
  });

  it('is silent about the rules of the compiler', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => expect(judged(compile(snapshot).document)).toEqual([])),
      { numRuns: 60 },
    );
  });
});

function judged(rules: RulesDocument): Finding[] {
  return unreachableRules(rules, new UserUniverse([], [rules]), new PatternCache());
}
