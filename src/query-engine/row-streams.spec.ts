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

  it('are released when their page comes after the response was closed', async () => {
    const released: string[] = [];
    const page = (text: string, next: number): RowsPage => ({
      ...{ columns: [], length: 1, pieces: () => [Buffer.from(text)], next },
      ...{ claim: () => 'granted', release: () => void released.push(text) },
    });
    let arrive: () => void = () => undefined;
    const arrival = new Promise<void>((resolve) => (arrive = resolve));
    const source = {
      stopReason: () => Promise.resolve(null),
      abandon: () => Promise.resolve(),
      rowsFrom: () => arrival.then(() => ({ kind: 'page' as const, page: page('late', 2) })),
    };
    const stream = new RowStream(page('first', 1), source, NO_LOOP, () => Promise.resolve());
    const bytes = stream.bytes('ndjson', 1);
    await bytes.next();
    await bytes.next();
    const last = bytes.next();
    await afterwards();
    await stream.close();
    arrive();

    expect(await last).toEqual({ done: true, value: undefined });
    expect(released).toContain('late');
  });

  it('are followed by no check of the session where no rows follow', async () => {
    const page = (text: string, next: number | null): RowsPage => ({
      ...{ columns: [], length: text.length, pieces: () => (text === '' ? [] : [Buffer.from(text)]), next },
      ...{ claim: () => 'granted', release: () => undefined },
    });
    const pages = [page('2', 2), page('', null)];
    let checks = 0;
    const source = {
      stopReason: () => Promise.resolve((checks += 1) > 1 ? ('session-ended' as const) : null),
      abandon: () => Promise.resolve(),
      rowsFrom: () => Promise.resolve({ kind: 'page' as const, page: pages.shift() ?? page('', null) }),
    };
    const stream = new RowStream(page('1', 1), source, NO_LOOP, () => Promise.resolve());
    const parts: string[] = [];
    for await (const bytes of stream.bytes('ndjson', 1)) parts.push(bytes.toString());

    expect(parts).toEqual(['{"columns":[]}\n', '1', '2']);
    expect(checks).toBe(1);
  });
});
