import { cursorOf } from '../../kernel/page.js';
import { queryKey, readQueryCursor } from './query.js';

const CURSOR = { createdAt: new Date('2026-11-20T12:00:00.123Z'), id: '0b6cf8f4-9b8e-4a57-8d36-0d1f3a4c5b6d' };

describe('a place in a list of queries', () => {
  it('comes back as it was written', () => {
    expect(readQueryCursor(cursorOf(queryKey(CURSOR)))).toEqual(CURSOR);
  });

  it.each(['', 'x', `${cursorOf(queryKey(CURSOR))}=`, cursorOf(5), cursorOf(['1', CURSOR.id])])('is not %j', (text) => {
    expect(readQueryCursor(text)).toBeNull();
  });
});
