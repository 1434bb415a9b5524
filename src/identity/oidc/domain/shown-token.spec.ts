import { shownTokenFault } from './shown-token.js';

describe('a token that a client shows', () => {
  it.each<[string, Record<string, unknown>, unknown]>([
    ['an ID token of Keycloak', { typ: 'ID', sid: 's' }, 'JWT'],
    ['an access token of Keycloak', { typ: 'Bearer', sid: 's' }, 'JWT'],
    ['a person’s that names its client', { typ: 'Bearer', sid: 's', client_id: 'notebook' }, 'JWT'],
    ['one that says no type', {}, undefined],
    ['an access token by RFC 9068', {}, 'at+jwt'],
    ['one of a sign-in elsewhere', { nonce: 'n', azp: 'notebook', aud: ['notebook', 'grantline'] }, 'JWT'],
    ['one of ours that was refreshed', { azp: 'grantline', aud: 'grantline' }, 'JWT'],
    ['an access token by its whole name', {}, 'application/AT+JWT'],
    ['a person’s of Microsoft Entra', { idtyp: 'user' }, 'JWT'],
  ])('is taken: %s', (_, claims, type) => {
    expect(shownTokenFault(claims, type, 'grantline')).toBeNull();
  });

  it.each<[string, string, Record<string, unknown>, unknown]>([
    ['a logout token', 'token_invalid', {}, 'logout+jwt'],
    ['a logout token by its whole name', 'token_invalid', {}, 'application/LOGOUT+JWT'],
    ['a logout token that does not say so', 'token_invalid', { events: {} }, 'JWT'],
    ['a logout token of Keycloak', 'token_invalid', { typ: 'Logout' }, 'JWT'],
    ['a refresh token', 'token_invalid', { typ: 'Refresh' }, 'JWT'],
    ['one of a type that is none', 'token_invalid', { typ: null }, 'JWT'],
    ['one of a sign-in here', 'token_invalid', { nonce: 'n', azp: 'grantline', aud: ['grantline', 'x'] }, 'JWT'],
    ['one of a sign-in here, for a list of one', 'token_invalid', { nonce: 'n', aud: ['grantline'] }, 'JWT'],
    ['one of a sign-in that may be here', 'token_invalid', { nonce: 'n', aud: ['x', 'grantline'] }, 'JWT'],
    ['an event of a person', 'token_invalid', {}, 'secevent+jwt'],
    ['what the provider knows of a person', 'token_invalid', {}, 'userinfo+jwt'],
    ['an answer to a sign-in', 'token_invalid', {}, 'oauth-authz-resp+jwt'],
    ['one whose type is no text', 'token_invalid', {}, 7],
    ['one bound to a key', 'token_invalid', { cnf: { jkt: 'thumbprint' } }, 'at+jwt'],
    ['one of a sign-in here, as Microsoft Entra has it', 'token_invalid', { nonce: 'n', aud: 'grantline' }, 'JWT'],
    ['a service account’s', 'token_of_program', { typ: 'Bearer', client_id: 'etl' }, 'JWT'],
    ['a service account’s with an empty session', 'token_of_program', { typ: 'ID', client_id: 'etl', sid: '' }, 'JWT'],
    ['an application’s of Microsoft Entra', 'token_of_program', { idtyp: 'app', sid: 's' }, 'JWT'],
  ])('is refused: %s', (_, code, claims, type) => {
    expect(shownTokenFault(claims, type, 'grantline')?.code).toBe(code);
  });
});
