import { cursorOf, keyOfCursor, pageOf } from './page.js';

describe('a page of a list', () => {
  const rows = [{ id: 3 }, { id: 5 }, { id: 9 }];

  it('goes on after its last item while there is more', () => {
    const page = pageOf(rows, 2, ({ id }) => id);
    expect(page.items).toEqual([{ id: 3 }, { id: 5 }]);
    expect(keyOfCursor(page.next ?? '')).toBe(5);
  });

  it('ends where nothing is left', () => {
    expect(pageOf(rows, 3, ({ id }) => id)).toEqual({ items: rows, next: null });
    expect(pageOf([], 3, ({ id }: { id: number }) => id)).toEqual({ items: [], next: null });
  });

  it.each(['', '5', 'YWZ0ZXI6', 'YWZ0ZXI6LTU', `${cursorOf(5)}=`, cursorOf(5).slice(0, -1), 'after:5'])(
    'takes %j for no cursor',
    (text) => expect(keyOfCursor(text)).toBeNull(),
  );
});
