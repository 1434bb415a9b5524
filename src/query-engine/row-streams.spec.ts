import { setImmediate as afterwards } from 'node:timers/promises';
import type { RowsPage } from './domain/held-page.js';
import { RowLoop } from './domain/row-loop.js';
import { RowStream } from './row-streams.service.js';

/** These pieces are made beforehand. */
const NO_LOOP = Object.create(RowLoop.prototype) as RowLoop;

describe('pieces of rows', () => {
  it('are not made before their turn', async () => {
    let made = 0;
    function* pieces(): Generator<Buffer> {
      for (;;) yield Buffer.from(String((made += 1)));
    }
    const page: RowsPage = {
      ...{ columns: [], length: 2, pieces, next: null },
      ...{ claim: () => 'granted', release: () => undefined },
    };
    const granted: (() => void)[] = [];
    const turn = (): Promise<void> => new Promise((resolve) => granted.push(resolve));
    const bytes = new RowStream(page, null, NO_LOOP, turn).bytes('json', 1);
    await bytes.next();

    for (const before of [0, 1, 2]) {
      const next = bytes.next();
      await afterwards();
      expect(made).toBe(before);
      granted[before]?.();
      await next;
    }
    expect(made).toBe(3);
  });
});
