import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { AuthUnderTest } from './auth-under-test.js';
import { closedLoop, openLoop, requestText } from './http-load.js';
import type { MeasuredProcess } from './measured-process.js';
import { median, medianRatio, quantile, type Ratio } from './ratio.js';

const RATE = 100;
const WINDOW_SECONDS = 4;

export interface Sending {
  connections: number;
  /** Requests a second at most. */
  rate?: number;
}

/** A service that is pushed to, and another person's `me` beside that. */
export class ScimUnderTest {
  private readonly turns = new Turns();

  private constructor(
    readonly service: MeasuredProcess,
    private readonly token: string,
    private readonly me: string,
  ) {}

  static async start(auth: AuthUnderTest): Promise<ScimUnderTest> {
    const token = randomBytes(32).toString('hex');
    return new ScimUnderTest(await auth.another({ SCIM_TOKEN: token }), token, auth.me());
  }

  request(method: string, path: string, body?: object): string {
    return requestText(method, `/api/scim/v2${path}`, { token: this.token, body });
  }

  patch(group: string, op: 'add' | 'remove', ids: readonly string[]): string {
    const operation = { op, path: 'members', value: ids.map((value) => ({ value })) };
    return this.request('PATCH', `/Groups/${group}`, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [operation],
    });
  }

  /**
   * Sends requests over so many connections, each the next one as soon as it has its answer and may go on.
   * @param read an answer, by the place of its request; their order is that of the requests on one connection alone
   * @returns the milliseconds that each took
   */
  async send(
    { connections, rate = Infinity }: Sending,
    requests: readonly string[],
    read: (body: string, place: number) => void = () => undefined,
  ): Promise<number[]> {
    const took: number[] = [];
    const underWay = new Map<number, { place: number; since: number }>();
    let next = 0;
    await closedLoop(this.service.port, connections, async (connection, last) => {
      const sent = underWay.get(connection);
      if (last !== null && sent !== undefined) {
        took.push(performance.now() - sent.since);
        if (last.status >= 300) throw new Error(`${last.status} ${last.body}`);
        read(last.body, sent.place);
      }
      const place = next++;
      await this.turns.next(1000 / rate);
      underWay.set(connection, { place, since: performance.now() });
      return requests[place] ?? null;
    });
    return took;
  }

  /** The ids of what is made by these bodies, in their order. */
  async made(sending: Sending, path: string, bodies: readonly object[]): Promise<string[]> {
    const ids: string[] = [];
    const requests = bodies.map((body) => this.request('POST', path, body));
    await this.send(sending, requests, (body, place) => (ids[place] = idIn(body)));
    return ids;
  }

  /** Does some work, which rests every few seconds: `me` at a fixed rate, with and without it. @returns also the work's own seconds */
  async withLatency(what: string, work: () => Promise<void>): Promise<{ me: Ratio; seconds: number }> {
    await this.waits(); // warms up
    const [rest, beside]: [number[], number[]] = [[], []];
    const began = performance.now();
    let rested = 0;
    let ended = began;
    const worked = work().then(() => (ended = performance.now()));
    const isUnderWay = () => Promise.race([worked.then(() => false), nextTurn(true)]);
    while (await isUnderWay()) {
      const pushed = quantile(await this.waits(), 0.99);
      if (!(await isUnderWay()) && beside.length > 0) break;
      const closed = performance.now();
      this.turns.close();
      const quiet = quantile(await this.waits(), 0.99);
      this.turns.open();
      rested += performance.now() - closed;
      beside.push(pushed);
      rest.push(quiet);
    }
    await worked;
    const figures = `${median(beside).toFixed(1)} ms, ${median(rest).toFixed(1)} ms at ${RATE}/s, ${rest.length} turns`;
    const ratio = medianRatio(beside, rest);
    const me: Ratio = { what: `me, p99 while ${what}, against p99 at rest`, ratio, target: { atMost: 3 }, figures };
    return { me, seconds: (ended - began - rested) / 1000 };
  }

  private waits(): Promise<number[]> {
    return openLoop(this.service.port, RATE, WINDOW_SECONDS, this.me);
  }
}

export function idIn(body: string): string {
  return String((JSON.parse(body) as { id: unknown }).id);
}

/** Something against its limit: at most 1. */
export function withinLimit(what: string, value: number, limit: number, figures: string): Ratio {
  return { what: `${what}, against ${limit}`, ratio: value / limit, target: { atMost: 1 }, figures };
}

/** When requests may go out. */
class Turns {
  private due = 0;
  private opening: Promise<void> = Promise.resolve();
  open: () => void = () => undefined;

  close(): void {
    this.opening = new Promise((open) => (this.open = open));
  }

  /** Resolves while it is open, that many milliseconds after it last did. */
  async next(pauseMs: number): Promise<void> {
    await this.opening;
    const now = performance.now();
    const at = Math.max(now, this.due);
    this.due = at + pauseMs;
    if (at > now) await pause(at - now);
  }
}
