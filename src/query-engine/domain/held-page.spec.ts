import { HeldBytes, HeldPage, type Room } from './held-page.js';
import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';

const ROWS = PageRows.scan(new JsonScanner(Buffer.from('[[1],[2]]')));

function roomOf(held: HeldBytes, owner: string, bytes: number): Room {
  const room = held.open(owner);
  expect(room.atLeast(bytes)).toBe('granted');
  return room;
}

describe('HeldBytes', () => {
  it('gives each owner a hard share, and takes it back', () => {
    const held = new HeldBytes(600, 50);
    const first = roomOf(held, 'ana', 60);
    const more = held.open('ana');

    expect(more.atLeast(41)).toBe('share');
    expect(held.open('bo').atLeast(100)).toBe('granted');
    first.release();
    first.release();
    expect(more.atLeast(41)).toBe('granted');
    expect(held.bytes).toBe(141);
  });

  it('counts bytes once, however often they are claimed', () => {
    const held = new HeldBytes(600, 50);
    const room = roomOf(held, 'ana', 80);

    expect(room.atLeast(30)).toBe('granted');
    expect(room.atLeast(90)).toBe('granted');
    expect(held.bytes).toBe(90);
  });

  it('lets one owner hold the largest page, and nobody more than there is', () => {
    const held = new HeldBytes(60, 50);
    roomOf(held, 'ana', 50);

    expect(held.open('bo').atLeast(10)).toBe('granted');
    expect(held.open('cy').atLeast(1)).toBe('full');
  });

  it('asks for room where a share is used up, before it refuses', () => {
    const kept: Room[] = [];
    const held = new HeldBytes(600, 50, (owner) => {
      for (const room of kept) if (room.owner === owner) room.release();
    });
    kept.push(roomOf(held, 'ana', 70));
    roomOf(held, 'ana', 30);
    kept.push(roomOf(held, 'bo', 10));

    expect(held.open('ana').atLeast(70)).toBe('granted');
    expect(held.bytes).toBe(110);
    expect(held.open('ana').atLeast(1)).toBe('share');
  });
});

describe('HeldPage', () => {
  it('is counted until its last holder has released it', () => {
    const held = new HeldBytes(600, 50);
    const page = new HeldPage(0, ROWS, roomOf(held, 'ana', 60));
    const [one, other] = [0, 1].map(() => page.read({ from: 0, to: 2, next: 2 }, [], () => undefined));
    expect(one?.claim(10)).toBe('granted');
    expect(held.bytes).toBe(70);
    one?.release();
    one?.release();

    expect(page.isBeingRead).toBe(true);
    page.release();
    expect(held.bytes).toBe(60);
    other?.release();
    expect(held.bytes).toBe(0);
  });
});
