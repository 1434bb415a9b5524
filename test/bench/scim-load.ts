import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuthUnderTest } from './auth-under-test.js';
import { closedLoop, openLoop, requestText } from './http-load.js';
import type { MeasuredProcess } from './measured-process.js';
import { quantile, type Ratio } from './ratio.js';

const RATE = 100;
const WINDOW_SECONDS = 5;
const QUIET_WINDOWS = 4;

/** A service that is pushed to, and another person's `me` beside that. */
export class ScimUnderTest {
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
   * Sends requests over so many connections, each the next one as soon as it has its answer.
   * @param read an answer, by the place of its request; their order is that of the requests on one connection alone
   * @returns the milliseconds that each took
   */
  async send(
    connections: number,
    requests: readonly string[],
    read: (body: string, place: number) => void = () => undefined,
  ): Promise<number[]> {
    const took: number[] = [];
    const underWay = new Map<number, { place: number; since: number }>();
    let next = 0;
    await closedLoop(this.service.port, connections, (connection, last) => {
      const sent = underWay.get(connection);
      if (last !== null && sent !== undefined) {
        took.push(performance.now() - sent.since);
        if (last.status >= 300) throw new Error(`${last.status} ${last.body}`);
        read(last.body, sent.place);
      }
      underWay.set(connection, { place: next, since: performance.now() });
      return requests[next++] ?? null;
    });
    return took;
  }

  /** The ids of what is made by these bodies, in their order. */
  async made(connections: number, path: string, bodies: readonly object[]): Promise<string[]> {
    const ids: string[] = [];
    const requests = bodies.map((body) => this.request('POST', path, body));
    await this.send(connections, requests, (body, place) => (ids[place] = idIn(body)));
    return ids;
  }

  /** `me` at a fixed rate before some work and as long as it lasts. */
  async besideMe(what: string, work: () => Promise<void>): Promise<Ratio> {
    const quiet: number[] = [];
    for (let window = -1; window < QUIET_WINDOWS; window += 1) {
      const waits = await this.waits();
      if (window >= 0) quiet.push(...waits); // the first one warms up
    }
    const beside: number[] = [];
    const worked = work();
    const isUnderWay = () => Promise.race([worked.then(() => false), nextTurn(true)]);
    while (await isUnderWay()) beside.push(...(await this.waits()));
    const [before, meanwhile] = [quantile(quiet, 0.99), quantile(beside, 0.99)];
    return {
      what: `me, p99 while ${what}, against p99 at rest`,
      ratio: meanwhile / before,
      target: { atMost: 3 },
      figures: `${meanwhile.toFixed(1)} ms, ${before.toFixed(1)} ms at ${RATE}/s`,
    };
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
