import fc from 'fast-check';
import { sessionAfter, readSessionChange, sessionFor, sessionHeaders, InvalidSession } from './engine-session.js';

const SERVICE = 'service-account-grantline';

describe('sessionHeaders', () => {
  it('names the service beside every user, in one family', () => {
    expect(sessionHeaders(sessionFor('ana'), 'X-Query', SERVICE)).toEqual({
      'X-Query-User': 'ana',
      'X-Query-Original-User': SERVICE,
      'X-Query-Source': 'grantline',
      'X-Query-Client-Capabilities': 'PARAMETRIC_DATETIME,NUMBER',
    });
  });

  it('encodes what may hold commas and equals signs, and nothing else', () => {
    const session = sessionFor('ana', {
      catalog: 'söles',
      schema: 'eu 1',
      traceToken: 't',
      timeZone: 'Europe/Berlin',
      properties: new Map([
        ['a', 'x,y=z'],
        ['lake.b', '1 2'],
      ]),
      roles: new Map([['system', 'ROLE{admin}']]),
      preparedStatements: new Map([['p', 'SELECT ?']]),
    });

    expect(sessionHeaders(session, 'X-Trino', SERVICE)).toMatchObject({
      'X-Trino-Catalog': 'söles',
      'X-Trino-Schema': 'eu 1',
      'X-Trino-Trace-Token': 't',
      'X-Trino-Time-Zone': 'Europe/Berlin',
      'X-Trino-Session': 'a=x%2Cy%3Dz,lake.b=1%202',
      'X-Trino-Role': 'system=ROLE%7Badmin%7D',
      'X-Trino-Prepared-Statement': 'p=SELECT%20%3F',
    });
  });

  it.each(['', ' ', 'a ', 'a\r\nX-Trino-User: root', '名', '\u0000'])('refuses the user %j', (user) => {
    expect(() => sessionHeaders(sessionFor(user), 'X-Query', SERVICE)).toThrow(InvalidSession);
  });
});

describe('folding', () => {
  const change = (headers: Record<string, string>): ReturnType<typeof readSessionChange> =>
    readSessionChange((name) => headers[name] ?? null, 'X-Query');

  it('keeps what a statement set until another takes it away', () => {
    const start = sessionFor('ana', { properties: new Map([['kept', '1']]), catalog: 'sales' });
    const used = sessionAfter(start, change({ 'x-query-set-session': 'a=1', 'x-query-set-schema': 'eu' }));
    const more = sessionAfter(used, change({ 'x-query-set-session': 'b=2', 'x-query-added-prepare': 'p=SELECT+1' }));
    const less = sessionAfter(more, change({ 'x-query-clear-session': 'a', 'x-query-deallocated-prepare': 'p' }));

    expect([...more.properties]).toEqual([
      ['kept', '1'],
      ['a', '1'],
      ['b', '2'],
    ]);
    expect([...more.preparedStatements]).toEqual([['p', 'SELECT 1']]);
    expect(less).toMatchObject({ catalog: 'sales', schema: 'eu' });
    expect([...less.properties.keys()]).toEqual(['kept', 'b']);
    expect(less.preparedStatements.size).toBe(0);
    expect([...start.properties.keys()]).toEqual(['kept']);
  });

  it('brings any value through the engine and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (value) => {
        const javas = encodeURIComponent(value).replaceAll('%20', '+');

        expect([
          ...sessionAfter(sessionFor('ana'), change({ 'x-query-set-session': `k=${javas}` })).properties,
        ]).toEqual([['k', value]]);
      }),
    );
  });

  it.each(['', '=', 'x', ',,', '%E0%A4%A'])('is not shaken by %j', (header) => {
    expect(() => sessionAfter(sessionFor('ana'), change({ 'x-query-set-session': header }))).not.toThrow();
  });
});
