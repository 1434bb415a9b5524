import { judgeConfirmation, signedInAt } from './confirmation.js';

const NOW = new Date('2026-11-20T12:00:30.000Z');
const at = (time: string): number => Date.parse(`2026-11-20T${time}Z`) / 1000;

describe('a confirmation at the provider', () => {
  const startedAt = Date.parse('2026-11-20T12:00:00.700Z');
  const atProvider = {
    issuer: 'https://sso.example.org',
    subject: 'ida',
    sid: 'of ida',
    idToken: 'sealed',
    refreshToken: null,
  };
  const session = { userId: 7, atProvider, ownerId: 7 };
  const judged = (claims: Record<string, unknown>, of: Parameters<typeof judgeConfirmation>[1] = session): string => {
    const judgement = judgeConfirmation({ sub: 'ida', ...claims }, of, { startedAt, now: NOW });
    return judgement.kind === 'refused' ? judgement.code : judgement.at.toISOString().slice(11, 19);
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
    expect(judged({ auth_time }, { ...session, atProvider: null })).toBe('session_ended');
  });
});

describe('the time of a sign-in at the provider', () => {
  it('is never later than now', () => {
    expect(signedInAt({ auth_time: at('11:00:00') }, NOW)?.toISOString()).toBe('2026-11-20T11:00:00.000Z');
    expect(signedInAt({ auth_time: at('12:01:00') }, NOW)).toEqual(NOW);
    expect(signedInAt({}, NOW)).toBeNull();
  });
});
