import fc from 'fast-check';
import { anyRules } from '../../../test/support/snapshots/any-rules.js';
import { NO_RULES } from '../../trino-rules/document/rules-document.js';
import { FirstMatch } from '../../trino-rules/engine/evaluator.js';
import { deadRuleFindings } from './dead-rules.js';
import { readLeniently } from './lenient-reader.js';
import type { PlacedFinding } from './checks.js';

describe('dead rules', () => {
  it.each<[string, { user?: string; table?: string }[], string | null]>([
    ['an open one behind an open one', [{ table: 'a.*' }, { table: 'ab.*' }], 'tables[0] matches whatever it matches'],
    ['an open one that lets in more', [{ table: 'ab.*' }, { table: 'a.*' }], null],
    ['one that only an unlikely name wakes', [{ user: 'b.*x' }, { user: 'b.*' }], null],
    ['names behind an open one', [{ user: 'an.*' }, { user: 'ana|anna' }], 'tables[0] matches whatever it matches'],
    ['an open one that two others cover', [{ user: 'a.*' }, { user: '.*z' }, { user: 'a.*z|ab.*' }], 'tables[0]'],
  ])('%s', (_name, tables, message) => {
    const findings = judged({ tables: tables.map((rule) => ({ ...rule, privileges: [] })) });
    if (message === null) expect(findings).toEqual([]);
    else expect(findings).toMatchObject([{ code: 'dead-rule', rule: `tables[${tables.length - 1}]` }]);
    expect(findings[0]?.message ?? '').toContain(message ?? '');
  });

  it.each<[string, object, object, object]>([
    ['queries', { user: 'lea', queryOwner: 'an.*', allow: ['view'] }, { queryOwner: 'ana' }, { queryOwner: 'ana|bo' }],
    ['queries', { user: 'lea', queryOwner: '.*', allow: ['view'] }, { queryOwner: 'ana' }, { queryOwner: undefined }],
    ['impersonation', { original_user: 'bi', new_user: 'an.*' }, { new_user: 'ana' }, { new_user: 'ana|bo' }],
    ['functions', { function: 'sum.*', privileges: ['EXECUTE'] }, { function: 'sum_up' }, { function: 'sum_up|avg' }],
    ['procedures', { procedure: 'kill.*', privileges: [] }, { procedure: 'kill_query' }, { procedure: 'kill_query|a' }],
    ['system_information', { user: 'an.*', allow: ['read'] }, { user: 'ana' }, { user: 'ana|bo' }],
  ])('one of %s that an earlier one covers, and none that lets in more: %j', (section, rule, covered, wider) => {
    const dead = { code: 'dead-rule', rule: `${section}[1]` };
    expect(judged({ [section]: [rule, { ...rule, ...covered }] })).toMatchObject([dead]);
    expect(judged({ [section]: [rule, { ...rule, ...wider }] })).toEqual([]);
  });

  it('reports patterns that exceed the work budget', () => {
    const intricate = `.*a${'(a|b|c)'.repeat(40)}`;
    const [finding] = judged({
      queries: [
        { user: intricate, allow: [] },
        { user: `${intricate}|x${intricate}`, allow: [] },
      ],
    });
    expect(finding).toMatchObject({ code: 'dead-rule-undecided', rule: 'queries[1]' });
  });

  it('judges a pattern that can be spelled in very many ways', () => {
    const impersonation = [
      { original_user: '(0|)(1|a?.*(a.*|)(b.*|)|)', new_user: '.*', allow: true },
      { new_user: 'information_schema', allow: true },
    ];
    expect(judged({ impersonation })).toMatchObject([{ code: 'dead-rule', rule: 'impersonation[1]' }]);
  });

  it('is right about random rules', () => {
    const words = ['', 'a', 'b', '0', '1', '.', '_', '$', '[', 'ab', 'ba', 'b0', 'a.b', 'axb', 'a_1', '日', 'bb', '00'];
    fc.assert(
      fc.property(anyRules(), ({ schemas }) => {
        const dead = new Set(judged({ schemas }).map(({ rule }) => rule));
        const first = new FirstMatch();
        const deciding = new Set<string>();
        for (const user of words) {
          for (const catalog of words) {
            for (const schema of ['a', 'b0', 'zz']) {
              const owner = first.index(schemas, { user, catalog, schema });
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

function judged(sections: object): PlacedFinding[] {
  const { rules } = readLeniently(JSON.stringify({ ...NO_RULES, ...sections }));
  return deadRuleFindings(rules ?? new Map());
}
