import { endedBy } from './logout-token.js';

const TOKEN = {
  jti: 'one',
  sub: 'erin',
  sid: 'a session',
  events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
};

describe('a logout token', () => {
  it('ends the session that it names, or all of the person', () => {
    expect(endedBy(TOKEN)).toEqual({ jti: 'one', ended: { sid: 'a session' } });
    expect(endedBy({ ...TOKEN, sid: undefined })).toEqual({ jti: 'one', ended: { subject: 'erin' } });
    expect(endedBy({ ...TOKEN, sub: undefined })).toEqual({ jti: 'one', ended: { sid: 'a session' } });
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
    expect(endedBy({ ...TOKEN, ...change })).toBeNull();
  });
});
