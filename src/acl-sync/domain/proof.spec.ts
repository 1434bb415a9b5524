import fc from 'fast-check';
import { aWorld } from '../../../test/support/a-world.js';
import { anyWorld } from '../../../test/support/any-world.js';
import { checkRules } from './check.js';
import { compile } from './compile.js';
import { rulesText } from './rules-text.js';

describe('the proof', () => {
  it('finds nothing in what the compiler makes of any world', () => {
    fc.assert(
      fc.property(anyWorld(), (snapshot) => {
        expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('names person, node, privilege, rule and grant when two groups are not merged', () => {
    const snapshot = aWorld()
      .group('readers', ['ana', 'bo'])
      .may('SELECT', 'sales.eu.orders')
      .group('writers', ['bo', 'cy'])
      .may('INSERT', 'sales.eu.orders')
      .snapshot();
    const { document } = compile(snapshot);
    const at = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const tables = [
      { user: 'ana|bo', ...at, privileges: ['SELECT' as const] },
      { user: 'bo|cy', ...at, privileges: ['INSERT' as const] },
    ];
    const kept = document.tables.filter(({ catalog }) => catalog !== 'sales');

    const findings = checkRules(rulesText({ ...document, tables: [...tables, ...kept] }), snapshot);

    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      code: 'proof-difference',
      severity: 'error',
      message: 'bo may INSERT into sales.eu.orders by grant 2 (group writers), but rule tables[0] lets bo only SELECT',
      rule: 'tables[0]',
      witness: '{"user":"ana|bo","catalog":"sales","schema":"eu","table":"orders","privileges":["SELECT"]}',
    });
  });
});
