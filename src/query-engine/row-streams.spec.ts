import { setImmediate as afterwards } from 'node:timers/promises';
import { FakeTimers } from '../../test/support/fakes/fake-timers.js';
import { LogBook } from '../../test/support/fakes/log-book.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import type { RowsPage, RowsResult } from './domain/held-page.js';
import { ProtocolBreach } from './domain/reading.js';
import { RowLoop } from './domain/row-loop.js';
import type { QueriesService } from './queries.service.js';
import { RowStream, RowStreams } from './row-streams.service.js';

/** These pieces are made beforehand. */
const NO_LOOP = Object.create(RowLoop.prototype) as RowLoop;

const nothing = (): void => undefined;
type Answer = Pick<RowsPage, 'claim' | 'confirm' | 'refuse' | 'release'>;
const answer: Answer = { claim: () => 'granted', confirm: nothing, refuse: nothing, release: nothing };
const now = (): Promise<void> => Promise.resolve();
const callbacks = { waitForSlot: now, logFailure: nothing };

describe('pieces of rows', () => {
  it('are not made before their turn', async () => {
    let made = 0;
    function* pieces(): Generator<Buffer> {
      for (;;) yield Buffer.from(String((made += 1)));
    }
    const page: RowsPage = { ...answer, columns: [], length: 2, pieces, next: null };
    const granted: (() => void)[] = [];
    const turn = (): Promise<void> => new Promise((resolve) => granted.push(resolve));
    const bytes = new RowStream(page, null, NO_LOOP, { ...callbacks, waitForSlot: turn }).bytes('json', 1);
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
      ...{ ...answer, columns: [], length: 1, pieces: () => [Buffer.from(text)], next },
      release: () => void released.push(text),
    });
    let arrive: () => void = () => undefined;
    const arrival = new Promise<void>((resolve) => (arrive = resolve));
    const source = {
      stopReason: () => Promise.resolve(null),
      abandon: now,
      rowsFrom: () => arrival.then(() => ({ kind: 'page' as const, page: page('late', 2) })),
    };
    const stream = new RowStream(page('first', 1), source, NO_LOOP, callbacks);
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
      ...{ ...answer, columns: [], length: text.length, next },
      pieces: () => (text === '' ? [] : [Buffer.from(text)]),
    });
    const pages = [page('2', 2), page('', null)];
    let checks = 0;
    const source = {
      stopReason: () => Promise.resolve((checks += 1) > 1 ? ('session-ended' as const) : null),
      abandon: now,
      rowsFrom: () => Promise.resolve({ kind: 'page' as const, page: pages.shift() ?? page('', null) }),
    };
    const stream = new RowStream(page('1', 1), source, NO_LOOP, callbacks);
    const parts: string[] = [];
    for await (const bytes of stream.bytes('ndjson', 1)) parts.push(bytes.toString());

    expect(parts).toEqual(['{"columns":[]}\n', '1', '2']);
    expect(checks).toBe(1);
  });
});

describe('a stream that the service cannot continue', () => {
  const first: RowsPage = { ...answer, columns: [], length: 1, pieces: () => [Buffer.from('["first"]\n')], next: 1 };
  const breach = new ProtocolBreach('a value that is no bigint');
  const failures: [string, RowsPage | Error][] = [
    ['engine_protocol_error', { ...first, pieces: () => throwing(breach) }],
    ['page_too_large', { ...first, claim: () => 'too-large' }],
    ['too_many_unread_rows', { ...first, claim: () => 'share' }],
    ['busy', { ...first, claim: () => 'full' }],
    ['internal_error', new Error('a bug')],
    ['database_unavailable', Object.assign(new Error('no database'), { code: 'ECONNREFUSED', syscall: 'connect' })],
  ];

  function throwing(error: Error): Buffer[] {
    throw error;
  }

  async function resultOf(second: RowsPage | Error): Promise<RowsResult> {
    await now();
    if (second instanceof Error) throw second;
    return { kind: 'page', page: second };
  }

  function streamTo(second: RowsPage | Error): RowStream {
    const source = { stopReason: () => Promise.resolve(null), abandon: now, rowsFrom: () => resultOf(second) };
    return new RowStream(first, source, NO_LOOP, callbacks);
  }

  async function textOf(stream: RowStream, format: 'ndjson' | 'csv'): Promise<string> {
    let text = '';
    for await (const bytes of stream.bytes(format, 2)) text += bytes.toString();
    return text;
  }

  it.each(failures)('ends with a line for the error where the format has one: %s', async (code, second) => {
    const lines = (await textOf(streamTo(second), 'ndjson')).trimEnd().split('\n');

    expect(lines.slice(0, 2)).toEqual(['{"columns":[]}', '["first"]']);
    expect(lines.slice(2).map((line) => JSON.parse(line) as unknown)).toMatchObject([{ error: { code } }]);
    await expect(textOf(streamTo(second), 'csv')).rejects.toThrow();
  });

  it('ends with a line of its own within a row', async () => {
    function* pieces(): Generator<Buffer> {
      yield Buffer.from('["half a');
      throw breach;
    }
    const lines = (await textOf(streamTo({ ...first, pieces }), 'ndjson')).trimEnd().split('\n');

    expect(lines.slice(0, -1)).toEqual(['{"columns":[]}', '["first"]', '["half a']);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ error: { code: 'engine_protocol_error' } });
  });

  it.each(['ndjson', 'csv'] as const)(
    'logs the cause of a failure within the service, and no other: %s',
    async (format) => {
      for (const [code, second] of failures) {
        const log = new LogBook();
        const queries = { rows: () => resultOf(second), cancel: now } as unknown as QueriesService;
        const user = { isStillAdmitted: () => Promise.resolve(true) } as AuthenticatedUser;
        const streams = new RowStreams(queries, NO_LOOP, new FakeTimers(), log);
        await textOf(streams.begin(first, user, 'q-1', 'follows'), format).catch(nothing);

        const fields = { query_id: 'q-1', code, err: second };
        expect(log.lines).toEqual(
          second instanceof Error ? [{ level: 'error', message: 'request failed', fields }] : [],
        );
      }
    },
  );

  it.each(['share', 'full'] as const)(
    'leaves its query to a repeated request if nothing was sent: %s',
    async (outcome) => {
      const calls: string[] = [];
      const page: RowsPage = {
        ...first,
        claim: (bytes) => (bytes > 20 ? outcome : 'granted'),
        ...{ confirm: () => void calls.push('confirm'), refuse: () => void calls.push('refuse') },
      };
      const abandon = (): Promise<unknown> => Promise.resolve(calls.push('abandon'));
      const source = { stopReason: () => Promise.resolve(null), abandon, rowsFrom: () => throwing(breach) as never };
      const stream = new RowStream(page, source, NO_LOOP, callbacks);

      await expect(textOf(stream, 'ndjson')).rejects.toMatchObject({ details: { retryAfter: 5 } });
      await stream.close();
      expect(calls).toEqual(['refuse']);
    },
  );
});
