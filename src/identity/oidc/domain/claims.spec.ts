import { readGroupsClaim, sessionsEndedBy, judgeConfirmation, presentedTokenFault, signInTimeOf } from './claims.js';

const NOW = new Date('2026-11-20T12:00:30.000Z');
const at = (time: string): number => Date.parse(`2026-11-20T${time}Z`) / 1000;

describe('a confirmation at the provider', () => {
  const startedAt = Date.parse('2026-11-20T12:00:00.700Z');
  const providerSession = {
    issuer: 'https://sso.example.org',
    subject: 'ida',
    sid: 'of ida',
    idToken: 'sealed',
    refreshToken: null,
  };
  const session = { userId: 7, providerSession, ownerId: 7 };
  const judged = (claims: Record<string, unknown>, of: Parameters<typeof judgeConfirmation>[1] = session): string => {
    const judgement = judgeConfirmation({ sub: 'ida', ...claims }, of, { startedAt, now: NOW });
    return 'code' in judgement ? judgement.code : judgement.toISOString().slice(11, 19);
  };

  it.each<[string, unknown, string]>([
    ['in the second of the start', at('12:00:00'), '12:00:00'],
    ['after it', at('12:00:20'), '12:00:20'],
    ['by a clock that is ahead', at('12:01:10'), '12:00:30'],
    ['before it', at('11:59:59'), 'not_signed_in_anew'],
    ['the day before', at('12:00:20') - 86_400, 'not_signed_in_anew'],
    ['in an hour', at('13:00:00'), 'not_signed_in_anew'],
    ['at no time', undefined, 'not_signed_in_anew'],
    ['at a text', String(at('12:00:20')), 'not_signed_in_anew'],
    ['at no number', Number.NaN, 'not_signed_in_anew'],
  ])('of somebody who signed in %s', (_, auth_time, expected) => {
    expect(judged({ auth_time })).toBe(expected);
  });

  it('is of the person and the account of the session alone', () => {
    const auth_time = at('12:00:20');
    expect(judged({ auth_time, sub: 'eve' })).toBe('other_person');
    expect(judged({ auth_time }, { ...session, ownerId: 8 })).toBe('other_person');
    expect(judged({ auth_time }, { ...session, ownerId: null })).toBe('other_person');
    expect(judged({ auth_time }, { ...session, providerSession: null })).toBe('session_ended');
  });
});

describe('the time of a sign-in at the provider', () => {
  it('is never later than now', () => {
    expect(signInTimeOf({ auth_time: at('11:00:00') }, NOW)?.toISOString()).toBe('2026-11-20T11:00:00.000Z');
    expect(signInTimeOf({ auth_time: at('12:01:00') }, NOW)).toEqual(NOW);
    expect(signInTimeOf({}, NOW)).toBeNull();
  });
});

const read = (groups: unknown, more: object = {}) => readGroupsClaim({ groups, ...more }, 'groups');
const known = (names: string[], { ambiguousNames = [] as string[], unusableCount = 0 } = {}) => ({
  kind: 'known',
  names,
  ambiguousNames,
  unusableCount,
});

describe('the claim of groups', () => {
  it.each<[string, unknown, string[]]>([
    ['absent', undefined, []],
    ['null', null, []],
    ['an empty list', [], []],
    ['names', ['emea', 'Platform Admins'], ['emea', 'Platform Admins']],
    ['paths', ['/analysts/emea', '/admins'], ['analysts/emea', 'admins']],
    ['a name with two slashes', ['//emea'], ['/emea']],
    ['one text', 'emea', ['emea']],
  ])('is read: %s', (_, value, names) => {
    expect(read(value)).toEqual(known(names));
  });

  it('joins nobody to one of two groups of a name', () => {
    expect(read(['a/b', 'admins', 'admins'])).toEqual(known(['a/b'], { ambiguousNames: ['admins'] }));
    expect(read(['/admins', 'Admins', 'ops'])).toEqual(known(['ops'], { ambiguousNames: ['admins', 'Admins'] }));
  });

  it('leaves out what no group can be called', () => {
    expect(read(['', '/', 'x'.repeat(129), 'a\u200bb', 'ops'])).toEqual(known(['ops'], { unusableCount: 4 }));
  });

  it.each<[string, unknown, object]>([
    ['too many for a token', undefined, { _claim_names: { groups: 'src1' } }],
    ['too many for a token, and some in it', ['ops'], { _claim_names: { groups: 'src1' } }],
    ['too many for an address', undefined, { hasgroups: true }],
    ['a number', 7, {}],
    ['an object', { ops: true }, {}],
    ['a list with something else', ['ops', { id: 1 }], {}],
  ])('says nothing: %s', (_, value, more) => {
    expect(read(value, more)).toEqual({ kind: 'unknown' });
  });

  it('takes the other claim for one of its own alone', () => {
    expect(read(['ops'], { _claim_names: { address: 'src1' } })).toEqual(known(['ops']));
  });
});

const TOKEN = {
  jti: 'one',
  sub: 'erin',
  sid: 'a session',
  events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
};

describe('a logout token', () => {
  it('ends the session that it names, or all of the person', () => {
    expect(sessionsEndedBy(TOKEN)).toEqual({ jti: 'one', target: { sid: 'a session' } });
    expect(sessionsEndedBy({ ...TOKEN, sid: undefined })).toEqual({ jti: 'one', target: { subject: 'erin' } });
    expect(sessionsEndedBy({ ...TOKEN, sub: undefined })).toEqual({ jti: 'one', target: { sid: 'a session' } });
  });

  it.each([
    ['another event', { events: { 'http://schemas.openid.net/event/other': {} } }],
    ['an event that is no object', { events: { 'http://schemas.openid.net/event/backchannel-logout': [] } }],
    ['no events', { events: undefined }],
    ['events that are a text', { events: 'http://schemas.openid.net/event/backchannel-logout' }],
    ['the nonce of an ID token', { nonce: 'one' }],
    ['an empty nonce', { nonce: '' }],
    ['no id', { jti: undefined }],
    ['an id that is a number', { jti: 7 }],
    ['neither person nor session', { sub: undefined, sid: undefined }],
    ['both empty', { sub: '', sid: '' }],
    ['a session that is a number', { sid: 7 }],
    ['a session that no column holds', { sid: 'a\0session' }],
    ['a person whom no column holds', { sid: undefined, sub: 'erin\0' }],
  ])('is none with %s', (_, change) => {
    expect(sessionsEndedBy({ ...TOKEN, ...change })).toBeNull();
  });
});

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
    expect(presentedTokenFault(claims, type, 'grantline')).toBeNull();
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
    expect(presentedTokenFault(claims, type, 'grantline')?.code).toBe(code);
  });
});
