import {
  addressOfGuarantee,
  formOfGuarantee,
  type Guarantee,
  guaranteeFromAddress,
  guaranteeOfForm,
  missingFieldTexts,
  NEW_GUARANTEE,
  guaranteeSentence,
  sentenceText,
} from './guarantee-form.js';

const analysts = { type: 'group', id: 3, name: 'analysts' };
const ana = { type: 'user', id: 4, name: 'ana' };
const everyone = { type: 'everyone' };
const hr = { resource: { catalog: 'hr' }, privileges: ['SELECT'] };
const people = { catalog: 'hr', schema: 'eu', table: 'people' };
const ofRoutines = ['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'];
const payments = { resource: { catalog: 'pay', schema: 'eu' }, privileges: ['INSERT'] };

const guarantee = (part: object): Guarantee =>
  ({ name: 'x', description: 'why', mode: 'reported', ...part }) as unknown as Guarantee;

/** Sentences, their guarantees, and what a request about these leaves out besides names, because it is the default. */
const CASES: [string, object, string?][] = [
  ['Nobody of analysts but ana may SELECT from hr', { kind: 'never', principal: analysts, except: [ana], ...hr }],
  ['ana may never INSERT or DELETE on hr', { kind: 'never', principal: ana, ...hr, privileges: ['INSERT', 'DELETE'] }],
  [
    'Nobody may read the real values of ssn in hr.eu.people without a row filter',
    { kind: 'never', principal: everyone, ...hr, resource: { ...people, column: 'ssn' }, unfiltered: true },
    'privileges',
  ],
  ['Only analysts and ana may SELECT from hr', { kind: 'only', principals: [analysts, ana], ...hr }],
  [
    'Everybody of analysts may always do everything on hr.eu.people',
    {
      ...{ kind: 'always', principal: analysts, resource: people },
      privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'TABLE_OWNERSHIP', 'GRANT_SELECT'],
    },
    'privileges',
  ],
  [
    'Nobody may do anything but EXECUTE_QUERIES on the engine',
    {
      ...{ kind: 'never', principal: everyone, resource: { engine: true } },
      privileges: ['VIEW_QUERIES', 'KILL_QUERIES', 'READ_SYSTEM_INFORMATION', 'WRITE_SYSTEM_INFORMATION'],
    },
    'privileges',
  ],
  [
    'Nobody may EXECUTE_FUNCTION, GRANT_EXECUTE_FUNCTION or CALL_PROCEDURE on hr.eu.raise',
    {
      ...{ kind: 'never', principal: everyone },
      ...{ resource: { catalog: 'hr', schema: 'eu', routine: 'raise' }, privileges: ofRoutines },
    },
  ],
  [
    'Nobody but ana may both INSERT into pay.eu and act as ana',
    {
      ...{ kind: 'apart', principal: everyone, except: [ana], first: payments },
      second: { resource: { as: ana } },
    },
  ],
  [
    'At most 1 person or engine principal of analysts may SELECT from hr',
    { kind: 'at_most', principal: analysts, count: 1, ...hr },
  ],
];

describe('the form of a guarantee', () => {
  it.each(CASES)('says: %s', (sentence, part) => {
    expect(sentenceText(guaranteeSentence(formOfGuarantee(guarantee(part))))).toBe(sentence);
  });

  it.each(CASES)('gives the guarantee back by ids alone, also by way of its address: %s', (_, part, left = '') => {
    const asked = guarantee(part);
    const form = formOfGuarantee(asked);
    const body = guaranteeOfForm(form);
    expect(body).toMatchObject(withoutNames(asked, left));
    expect(guaranteeOfForm(guaranteeFromAddress(addressOfGuarantee(form)))).toEqual(body);
  });

  it('keeps the kinds of its nodes in the address, whatever was typed for other kinds', () => {
    const typed = { ...NEW_GUARANTEE.first, catalog: 'hr', as: ana };
    const form = { ...NEW_GUARANTEE, kind: 'apart', first: typed, second: typed } as const;
    expect(sentenceText(guaranteeSentence(guaranteeFromAddress(addressOfGuarantee(form))))).toBe(
      'Nobody may both do anything on hr and do anything on hr',
    );
  });

  it.each([
    [{}, ['name', 'principal']],
    [{ name: 'x', kind: 'only' }, ['principals']],
    [{ name: 'x', kind: 'at_most', count: '0' }, ['count']],
    [{ name: 'x', kind: 'apart', second: { ...NEW_GUARANTEE.second, nodeKind: 'acting' } }, ['second']],
  ] as const)('lacks fields: %j', (part, fields) => {
    const form = { ...NEW_GUARANTEE, ...part };
    expect(Object.keys(missingFieldTexts(form))).toEqual(fields);
    expect(guaranteeOfForm(form)).toBeNull();
  });

  it.each([
    [{ catalog: 'hr' }, ofRoutines],
    [{ catalog: 'system', schema: 'runtime', routine: 'kill_query' }, ['CALL_PROCEDURE']],
  ])('is about the privileges on routines alone where none is chosen: %j', (names, privileges) => {
    const first = { ...NEW_GUARANTEE.first, ...names, nodeKind: 'routine' } as const;
    const form = { ...NEW_GUARANTEE, kind: 'only' as const, except: [ana], first };
    expect(guaranteeOfForm(form)).toMatchObject({ resource: names, privileges });
    expect(sentenceText(guaranteeSentence(form))).toMatch(/^Only ana may (EXECUTE_FUNCTION|CALL_PROCEDURE)/);
  });

  it('says what is still missing', () => {
    expect(sentenceText(guaranteeSentence({ ...NEW_GUARANTEE, kind: 'at_most', count: '' }))).toBe(
      'At most … people and engine principals may do anything on everything',
    );
  });

  it('is the saved one by an address without a draft', () => {
    const saved = formOfGuarantee(guarantee({ kind: 'only', principals: [ana] }));
    expect(guaranteeFromAddress(new URLSearchParams('ask=delete'), saved)).toBe(saved);
    expect(addressOfGuarantee(saved, saved).size).toBe(0);
  });
});

/** @param left a field that is left out */
function withoutNames(asked: Guarantee, left = ''): object {
  const text = JSON.stringify({ ...asked, [left]: undefined }, (_, value: object | string) =>
    typeof value === 'object' && 'id' in value ? { ...value, name: undefined } : value,
  );
  return JSON.parse(text) as object;
}
