import { readClaims, tokenProblems } from './token-claims.js';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenWith = (claims: unknown, header: unknown = { alg: 'RS256' }): string =>
  `${part(header)}.${part(claims)}.c2ln`;

describe('readClaims', () => {
  it.each(['', 'opaque', 'a.b.c', `${part({})}.${part('text')}.c`, tokenWith([1]), tokenWith(null)])(
    'finds none in %j',
    (token) => expect(readClaims(token)).toBeNull(),
  );

  it('leaves out what is no text', () => {
    expect(readClaims(tokenWith({ preferred_username: 7, aud: ['trino', 8] }, {}))).toEqual({
      algorithm: null,
      issuer: null,
      client: null,
      principal: null,
      audience: ['trino'],
      origins: [],
    });
  });
});

describe('what is wrong with a service-account token', () => {
  const expected = {
    issuer: 'https://idp.example.org/realms/data',
    client: 'grantline',
    principal: 'service-account-grantline',
    audience: 'trino',
  };
  /** As Keycloak 26.7 was seen to make them. */
  const good = {
    iss: expected.issuer,
    azp: 'grantline',
    preferred_username: 'service-account-grantline',
    aud: ['trino', 'account'],
    typ: 'Bearer',
  };
  const messages = (claims: object, header: object = { alg: 'RS256' }): string[] => {
    const read = readClaims(tokenWith(claims, header));
    return read === null ? ['unreadable'] : tokenProblems(read, expected).map(({ message }) => message);
  };

  it('nothing if it agrees with the settings; of missing claims only the audience', () => {
    expect(messages(good)).toEqual([]);
    expect(messages({})).toEqual(['service-account token lacks the audience']);
  });

  it.each([
    [{ iss: 'https://idp.example.org/realms/other' }, 'service-account token has another issuer'],
    [{ iss: 'http://idp.example.org/realms/data' }, 'service-account token has another issuer'],
    [{ azp: 'other-tool' }, 'service-account token is of another client'],
    [{ preferred_username: 'ana' }, 'ENGINE_IDENTITY_MISMATCH'],
    [{ aud: 'account' }, 'service-account token lacks the audience'],
    [{ 'allowed-origins': ['*'] }, 'service-account client has web origins, which it does not need'],
  ])('%j: %s', (claims, message) => expect(messages({ ...good, ...claims })).toEqual([message]));

  it.each([
    ['Entra, version 2', { iss: expected.issuer, azp: 'grantline', sub: 'f6b1…', aud: 'trino' }],
    ['Entra, version 1', { iss: `${expected.issuer}/`, appid: 'grantline', aud: 'trino' }],
    ['Okta', { iss: expected.issuer, cid: 'grantline', sub: 'grantline', aud: 'trino' }],
    ['RFC 9068', { iss: expected.issuer, client_id: 'grantline', sub: 'grantline', aud: 'trino' }],
  ])('nothing in the form of %s, whose client is compared too', (_, claims) => {
    expect(messages(claims)).toEqual([]);
    const others = Object.fromEntries(Object.entries(claims).map(([k, v]) => [k, v === 'grantline' ? 'other' : v]));
    expect(messages(others)).toEqual(['service-account token is of another client']);
  });

  it.each(['HS256', 'none', 'ES256'])('the algorithm %s, which the engine does not verify', (alg) => {
    expect(messages(good, { alg })).toEqual(['service-account token is not signed with RS256']);
  });
});
