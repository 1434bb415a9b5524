import { readQueryCursor, writeQueryCursor } from './query.js';

const CURSOR = { createdAt: new Date('2026-11-20T12:00:00.123Z'), id: '0b6cf8f4-9b8e-4a57-8d36-0d1f3a4c5b6d' };

describe('a place in a list of queries', () => {
  it('comes back as it was written', () => {
    expect(readQueryCursor(writeQueryCursor(CURSOR))).toEqual(CURSOR);
  });

  it.each(['', 'x', `${writeQueryCursor(CURSOR)}=`, Buffer.from('abc').toString('base64url')])('is not %j', (text) => {
    expect(readQueryCursor(text)).toBeNull();
  });
});
