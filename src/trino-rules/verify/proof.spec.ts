import fc from 'fast-check';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { anyFault } from '../../../test/support/rules/document-fault.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { byEvaluator } from '../../../test/support/rules/by-evaluator.js';
import { byIntent } from '../../../test/support/rules/by-intent.js';
import { anyQuestion } from '../../../test/support/rules/engine-question.js';
import { proveRules } from '../../../test/support/rules/prove-rules.js';
import { wordsOf } from '../../../test/support/snapshots/snapshot-words.js';
import { compile } from '../compile/compile.js';
import { STORAGE_COLUMNS } from '../model/restrictions.js';
import type { Finding } from '../document/finding.js';
import { FRESH_PREFIX } from '../document/open-names.js';
import { MARKER_PREFIX, type RulesDocument } from '../document/rules-document.js';
import { Evaluator } from '../engine/evaluator.js';
import { MetadataVisibility } from '../../../test/support/rules/metadata-visibility.js';
import type { Snapshot } from '../model/snapshot.js';

const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };

describe('the proof', () => {
  it('refuses a row filter that lets in more: joined with OR, or with one conjunct less', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales.eu.orders')
      .seesOnly('sales.eu.orders', 'a = 1')
      .seesOnly('sales.eu.orders', 'b = 2')
      .snapshot();

    for (const filter of ['(a = 1) OR (b = 2)', '(b = 2)', '(a = 1) AND (b = 2) OR (true)', '(a = 1 AND b = 2)'])
      expect(
        judged(snapshot, ({ tables, ...others }) => ({
          ...others,
          tables: tables.map((rule) => (rule.filter === undefined ? rule : { ...rule, filter })),
        })).map(({ code }) => code),
      ).toContain('proof-difference');
  });

  it('refuses a privilege that the mode of the catalog takes: it shows columns all the same', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot();

    const findings = judged(snapshot, ({ tables, ...others }) => ({
      ...others,
      tables: [
        { user: 'ana', catalog: 'sales|system', schema: 'eu', table: 'prices', privileges: ['INSERT'] },
        ...tables,
      ],
    }));

    expect(findings.map(({ message }) => message)).toEqual([
      'ana may not INSERT into sales.eu.prices (no grant gives it), but rule catalogs[3] gives it',
      'ana may not INSERT into system.eu.prices (no grant gives it), but rule catalogs[4] gives it',
    ]);
  });

  it('names person, node, privilege, rule and grant when two groups are not merged', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana', 'bo'])
      .may('SELECT', 'sales.eu.orders')
      .group('writers', ['bo', 'cy'])
      .may('INSERT', 'sales.eu.orders')
      .user('bo')
      .may('INSERT', 'sales.eu.orders')
      .snapshot();

    const findings = judged(snapshot, ({ tables, ...others }) => ({
      ...others,
      tables: [
        { user: 'ana|bo', ...ORDERS, privileges: ['SELECT'], filter: 'true' },
        { user: 'bo|cy', ...ORDERS, privileges: ['INSERT'] },
        ...tables.filter(({ catalog }) => catalog !== 'sales'),
      ],
    }));

    expect(findings).toEqual([
      {
        code: 'proof-difference',
        severity: 'error',
        message:
          'bo may INSERT into sales.eu.orders by grant 2 (group writers) and 1 more, but rule tables[0] lets bo only SELECT',
        rule: 'tables[0]',
        witness:
          '{"user":"ana|bo","catalog":"sales","schema":"eu","table":"orders","privileges":["SELECT"],"filter":"true"}',
      },
      expect.objectContaining({
        message: expect.stringMatching(/^bo may run table procedures .*, but rule tables\[0\]/) as string,
      }),
    ]);
  });

  it('refuses rules for users without access there', () => {
    const snapshot = aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders').snapshot();
    const closed = { user: 'cy', ...ORDERS, privileges: [], columns: [{ name: 'ssn', mask: 'NULL' }] };

    const findings = judged(snapshot, ({ tables, ...others }) => ({ ...others, tables: [...tables, closed] }));

    expect(findings.map(({ message }) => message)).toEqual([
      'by rule tables[5] cy may SELECT the column ssn of sales.eu.orders only as NULL, but no policy says so',
    ]);
  });

  it('refuses functions in a catalog where data is restricted, which no rule names', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('EXECUTE_FUNCTION', '')
      .may('SELECT', '')
      .seesOnly('sales.eu.orders', 'a = 1')
      .snapshot();

    const findings = judged(snapshot, ({ functions, ...others }) => ({
      ...others,
      functions: functions.map(({ catalog, ...rule }) =>
        catalog === undefined ? rule : { ...rule, catalog: catalog.replace('|sales', '') },
      ),
    }));

    expect(findings.map(({ code }) => code)).toContain('proof-difference');
  });

  it('refuses a mask on a column that is hidden, which the engine gives all the same', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales.eu.orders')
      .doesNotSee('sales.eu.orders', 'ssn')
      .snapshot();
    const masked = { name: 'ssn', allow: false, mask: 'NULL' };
    const storage = STORAGE_COLUMNS.map((name) => ({ name, allow: false }));

    const findings = judged(snapshot, ({ tables, ...others }) => ({
      ...others,
      tables: tables.map((rule) => (rule.columns === undefined ? rule : { ...rule, columns: [...storage, masked] })),
    }));

    expect(findings.map(({ code }) => code)).toEqual(['proof-difference']);
  });

  it('counts the differences beyond the twentieth in one more error', () => {
    const builder = aSnapshot().user('ana');
    for (let i = 0; i < 23; i++) builder.may('SELECT', `sales.eu.t${i}`);

    const findings = judged(builder.snapshot(), ({ tables, ...others }) => ({
      ...others,
      tables: tables.filter(({ catalog }) => catalog !== 'sales'),
    }));

    expect(findings).toHaveLength(21);
    expect(findings.at(-1)).toEqual({
      code: 'proof-difference',
      severity: 'error',
      message: '3 more differences between the rules and the grants are not listed',
    });
  });

  it('refuses rules that open every session property where the settings open the one that stands for all others', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales.eu.orders')
      .with({ sessionProperties: [FRESH_PREFIX] })
      .snapshot();

    const findings = judged(snapshot, ({ system_session_properties: properties, ...others }) => ({
      ...others,
      system_session_properties: properties.map((rule) => {
        const { property, ...open } = rule;
        return property === FRESH_PREFIX ? open : rule;
      }),
    }));

    expect(findings.map(({ code }) => code)).toContain('proof-difference');
  });

  it('expects no marker where no rule allows it', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot();
    const findings = judged(snapshot, ({ system_session_properties: properties, ...others }) => ({
      ...others,
      system_session_properties: properties.map((rule) =>
        rule.property?.startsWith(MARKER_PREFIX) === true ? { ...rule, allow: false } : rule,
      ),
    }));
    expect(findings).toEqual([]);
  });

  it('stops every slip that changes any answer', () => {
    const asked = fc
      .tuple(anySnapshot(), anyFault())
      .chain(([snapshot, change]) =>
        fc.tuple(
          fc.constant(snapshot),
          fc.constant(change),
          fc.array(anyQuestion(wordsOf(snapshot)), { minLength: 60, maxLength: 60 }),
        ),
      );
    fc.assert(
      fc.property(asked, ([snapshot, change, questions]) => {
        const rules = change(compile(snapshot).document);
        if (proveRules(rules, snapshot).length > 0) return;
        const evaluator = new Evaluator(rules);
        const listings = new MetadataVisibility(evaluator);
        const expected = questions.flatMap((question) => {
          const answer = byIntent(snapshot, question);
          return answer === undefined ? [] : [{ question, answer }];
        });
        expect(
          expected.map(({ question }) => ({ question, answer: byEvaluator(evaluator, listings, question) })),
        ).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });
});

function judged(snapshot: Snapshot, change: (rules: RulesDocument) => RulesDocument): Finding[] {
  return proveRules(change(compile(snapshot).document), snapshot);
}
