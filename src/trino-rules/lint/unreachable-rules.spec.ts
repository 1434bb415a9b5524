import fc from 'fast-check';
import { anyRules } from '../../../test/support/any-rules.js';
import { anySnapshot } from '../../../test/support/any-snapshot.js';
import { compile } from '../compile/compile.js';
import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import { NO_RULES, type RulesDocument, type TableRule } from '../document/rules-document.js';
import { FirstMatch } from '../engine/first-match.js';
import { UserUniverse } from '../engine/user-universe.js';
import { unreachableRules } from './unreachable-rules.js';

describe('dead rules', () => {
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
    ['an open one behind an open one', [{ table: 'a.*' }, { table: 'ab.*' }], 'for example tables[0]'],
    ['an open one that lets in more', [{ table: 'ab.*' }, { table: 'a.*' }], null],
    ['one that only an unlikely name wakes', [{ user: 'b.*x' }, { user: 'b.*' }], null],
    ['names behind an open one', [{ user: 'an.*' }, { user: 'ana|anna' }], 'for example tables[0] for ana'],
    [
      'an open one that two others cover',
      [{ user: 'a.*' }, { user: '.*z' }, { user: 'a.*z|ab.*' }],
      'for example tables[0]',
    ],
  ])('%s', (_name, tables, message) => {
    const findings = judged({ ...NO_RULES, tables: tables.map((rule) => ({ ...rule, privileges: [] })) });
    if (message === null) expect(findings).toEqual([]);
    else
      expect(findings).toMatchObject([
        { code: 'dead-rule', severity: 'warning', rule: `tables[${tables.length - 1}]` },
      ]);
    expect(findings[0]?.message ?? '').toContain(message ?? '');
  });

  it('reports patterns that exceed the work budget', () => {
    const intricate = `.*a${'(a|b|c)'.repeat(40)}`;
    const [finding] = judged({
      ...NO_RULES,
      queries: [
        { user: intricate, allow: [] },
        { user: `${intricate}|x${intricate}`, allow: [] },
      ],
    });
    expect(finding).toMatchObject({ code: 'dead-rule-undecided', severity: 'info', rule: 'queries[1]' });
  });

  it('judges patterns that can be spelled in very many ways', () => {
    const impersonation = [
      { original_user: '(0|)(1|[$]?.*(a.*|)(b.*|)|)', new_user: '.*', allow: true },
      { new_user: 'information_schema', allow: true }, // decides for a user with a line end in the name
    ];
    expect(judged({ ...NO_RULES, impersonation })).toEqual([]);
  });

  it('is silent about the rules of the compiler', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => expect(judged(compile(snapshot).document)).toEqual([])),
      { numRuns: 60 },
    );
  });

  it('is right about random rules', () => {
    const words = [
      '',
      'a',
      'b',
      '0',
      '1',
      '.',
      '_',
      '$',
      '[',
      'ab',
      'ba',
      'b0',
      'a.b',
      'axb',
      'a_1',
      '日',
      'bb',
      'aa',
      '00',
      'system',
      'fresh',
    ];
    fc.assert(
      fc.property(anyRules(), ({ schemas, impersonation }) => {
        const dead = new Set(judged({ ...NO_RULES, schemas, impersonation }).map(({ rule }) => rule));
        const first = new FirstMatch();
        const deciding = new Set<string>();
        for (const original_user of words) {
          for (const new_user of words) {
            const decides = first.index(impersonation, { original_user, new_user });
            if (decides !== null) deciding.add(`impersonation[${decides}]`);
            for (const schema of ['a', 'b0', 'zz']) {
              const owner = first.index(schemas, { user: original_user, catalog: new_user, schema });
              if (owner !== null) deciding.add(`schemas[${owner}]`);
            }
          }
        }
        expect([...deciding].filter((rule) => dead.has(rule))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

function judged(rules: RulesDocument): Finding[] {
  return unreachableRules(rules, new UserUniverse([], [rules]), new PatternCache(), 'warning');
}
