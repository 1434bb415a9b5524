import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { checkRules } from '../verify/check.js';
import { compile } from './compile.js';

const rulesOf = (builder: ReturnType<typeof aSnapshot>) => {
  const snapshot = builder.snapshot();
  const { document, text, findings } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  const { catalogs, functions, procedures } = document;
  const entered = catalogs.filter(({ user, allow }) => !user?.includes('service-account') && allow !== 'none');
  return { catalogs: entered.filter(({ catalog }) => catalog !== 'system'), functions, procedures, findings };
};

describe('rules about functions and procedures', () => {
  it('stand from the narrowest up, and let their holders into the catalog', () => {
    const { catalogs, functions, procedures } = rulesOf(
      aSnapshot()
        .user('ana')
        .may('EXECUTE_FUNCTION', 'sales')
        .mayNot('sales.eu.query()')
        .user('bo')
        .may('CALL_PROCEDURE', 'sales.eu')
        .may('EXECUTE_FUNCTION', 'sales.eu.query()'),
    );
    expect(catalogs).toEqual([{ user: 'ana|bo', catalog: 'sales', allow: 'read-only' }]);
    expect(functions).toEqual([
      { user: 'bo', catalog: 'sales', schema: 'eu', function: 'query', privileges: ['EXECUTE'] },
      { catalog: 'sales', schema: 'eu', function: 'query', privileges: [] },
      { user: 'ana', catalog: 'sales', privileges: ['EXECUTE'] },
    ]);
    expect(procedures).toEqual([{ user: 'bo', catalog: 'sales', schema: 'eu', privileges: ['EXECUTE'] }]);
  });

  it.each([
    ['a filter on a table', (story: Story) => story.seesOnly('sales.eu.orders', 'true')],
    ['a mask that nobody reads past', (story: Story) => story.seesMasked('sales.us', 'ssn', 'NULL')],
    ['a hidden column', (story: Story) => story.doesNotSee('sales.eu.orders', 'ssn')],
    ['a deny of what is not held', (story: Story) => story.mayNot('sales.hr.salaries', 'DELETE')],
  ])('are none for somebody to whom %s applies', (_, restrict) => {
    const story = () => aSnapshot().user('bo').may('EXECUTE_FUNCTION, CALL_PROCEDURE', 'sales').user('ana');
    const { catalogs, functions, procedures } = rulesOf(restrict(story().may('EXECUTE_FUNCTION', 'sales.eu')));
    expect(catalogs).toEqual([{ user: 'bo', catalog: 'sales', allow: 'read-only' }]);
    expect([...functions, ...procedures].map(({ user }) => user)).toEqual(['bo', 'bo']);
    // Elsewhere, or with an exception, it restricts nobody.
    const elsewhere = rulesOf(story().may('EXECUTE_FUNCTION', 'sales.eu').seesOnly('hr', 'true'));
    expect(elsewhere.functions.map(({ user }) => user)).toEqual(['ana', 'bo']);
  });

  it('are none for those whom nothing lets run anything, and nothing else changes', () => {
    const story = () => aSnapshot().user('ana').may('SELECT', 'sales').seesOnly('sales.eu', 'true');
    const { functions, procedures, findings } = rulesOf(story());
    expect([functions, procedures, findings]).toEqual([[], [], []]);
    const { text } = compile(story().snapshot());
    expect(compile(story().may('CALL_PROCEDURE', 'sales').snapshot()).text).toBe(text);
  });

  it('are findings: who enters the catalog, and what is to everyone', () => {
    const { findings } = rulesOf(
      aSnapshot().user('ana').may('EXECUTE_FUNCTION', 'sales').everyone().may('CALL_PROCEDURE', 'sales.eu'),
    );
    expect(findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)).toEqual([
      "warning routines-wide-open: grant 2 of functions or procedures is to everyone: a pass-through routine reads and writes whatever a catalog's connection may",
      'info routines-open-catalog: grants 1, 2 of functions or procedures let their holders into catalog sales, where the engine then takes ALTER TABLE … EXECUTE on any table',
    ]);
  });
});

type Story = ReturnType<typeof aSnapshot>;
