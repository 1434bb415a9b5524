import { setImmediate as afterwards } from 'node:timers/promises';
import type { RowsPage } from './domain/held-page.js';
import { RowLoop } from './domain/row-loop.js';
import { RowStream, RowTurns } from './row-stream.js';

/** These pieces are made beforehand. */
const NO_LOOP = Object.create(RowLoop.prototype) as RowLoop;

describe('pieces of rows', () => {
  it('are made one at a time, by people in turns, and everything else that waits comes between them', async () => {
    const turns = new RowTurns();
    const order: string[] = [];
    const eve = Array.from({ length: 4 }, () => turns.next('eve').then(() => order.push('eve')));
    const ben = Array.from({ length: 2 }, () => turns.next('ben').then(() => order.push('ben')));
    const others = (async () => {
      for (let count = 0; count < 3; count += 1) {
        await afterwards();
        order.push('-');
      }
    })();
    await Promise.all([...eve, ...ben, others]);

    expect(order.join(' ')).toMatch(/^eve -( ?-)* ben( -)+ eve( -)* ben( -)* eve( -)* eve$/);
  });

  it('are waited for by any number of requests without a warning', async () => {
    const warned: string[] = [];
    const note = ({ name }: Error): void => void warned.push(name);
    process.on('warning', note);
    const turns = new RowTurns();
    await Promise.all(Array.from({ length: 12 }, (_, at) => turns.next(`person ${at}`)));
    process.off('warning', note);
    expect(warned).toEqual([]);
  });

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
