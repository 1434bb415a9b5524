import { gunzipSync } from 'node:zlib';
import { administrator, people } from '../support/service/administrator.js';
import type { ApiClient } from '../support/service/api-client.js';
import { sharedService, startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';

const PATH = '/api/opa/bundles/grantline.tar.gz';
const TOKEN = 'the-token-of-opa-0123456789-abcdef';
const FORMER = 'the-former-token-which-is-being-replaced';
const SETTINGS = { ACL_TARGET: 'file,opa', OPA_TOKEN: `${FORMER},${TOKEN}` };
const POLL_MS = 400;

/** What OPA does: asks on the operations port, and sends back the tag that it has. */
class Opa {
  private url = '';

  constructor(
    private readonly service: TestService,
    private readonly timers: FakeTimers,
  ) {}

  async connect(): Promise<void> {
    this.url = await this.service.operations.listen({ host: '127.0.0.1', port: 0 });
  }

  ask(headers: Record<string, string> = {}, path = PATH): Promise<Response> {
    return fetch(this.url + path, { headers: { Authorization: `Bearer ${TOKEN}`, ...headers } });
  }

  /** A request that is held, as soon as it is. */
  async hold(tag: string | null, seconds = 30, requests = 1): Promise<Promise<Response>[]> {
    const before = this.waiting(seconds);
    const prefer = { Prefer: `modes=snapshot,delta;wait=${seconds}` };
    const held = Array.from({ length: requests }, () =>
      this.ask(tag === null ? prefer : { ...prefer, 'If-None-Match': tag }),
    );
    await until(() => this.waiting(seconds) >= before + requests);
    return held;
  }

  /** Lets time pass until the process looks for another version. */
  lookAgain(): void {
    this.timers.advance(POLL_MS);
  }

  private waiting(seconds: number): number {
    return this.timers.waits.filter((wait) => wait === seconds * 1000).length;
  }
}

const revisionIn = async (answer: Response | undefined): Promise<string | undefined> =>
  /"revision":"(v\d+)-[0-9a-f]{12}"/.exec(gunzipSync(await (answer ?? Response.error()).arrayBuffer()).toString())?.[1];

describe('the bundle for OPA', () => {
  const timers = new FakeTimers();
  const service = sharedService(SETTINGS, { timers });
  const opa = new Opa(service, timers);
  let admin: ApiClient;
  let alice: number;
  beforeAll(async () => {
    await opa.connect();
    admin = await administrator(service);
    ({ alice } = await people(service, 'alice'));
  });

  /** Publishes another version. */
  const publish = async (table: string): Promise<void> => {
    const grant = { principal: { type: 'user', id: alice }, resource: { catalog: 'sales', schema: 'eu', table } };
    expect(await admin.post('/api/admin/grants', { ...grant, privileges: ['SELECT'] })).toMatchObject({ status: 201 });
    expect(await admin.post('/api/admin/acl/sync')).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  };
  const current = async (): Promise<string> => (await opa.ask()).headers.get('etag') ?? '';

  it('is for who shows one of the tokens', async () => {
    for (const Authorization of ['', 'Bearer', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, `Bearer ${admin.token}`]) {
      const answer = await opa.ask({ Authorization });
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer /)]);
      expect(await answer.json()).toMatchObject({ code: 'token_invalid' });
    }
    for (const token of [TOKEN, FORMER]) expect((await opa.ask({ Authorization: `Bearer ${token}` })).status).toBe(503);
  });

  it('does not exist before the first publication, which a request may await', async () => {
    const answer = await opa.ask({ 'If-None-Match': '*' });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ code: 'no_publication' });

    const [held] = await opa.hold(null);
    await publish('orders');
    const given = await held;
    expect([given?.status, given?.headers.get('content-type')]).toEqual([
      200,
      'application/vnd.openpolicyagent.bundles',
    ]);
    expect(await revisionIn(given)).toBe('v1');
  });

  it('is sent to who has another one', async () => {
    const tag = await current();
    for (const known of [tag, `W/${tag}`, `"other", W/${tag}`, '*']) {
      const answer = await opa.ask({ 'If-None-Match': known });
      expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, tag, '']);
    }
    expect((await opa.ask({ 'If-None-Match': '"other"' })).status).toBe(200);
  });

  it('is held for who has the newest, until the next publication or the end of the wait', async () => {
    const tag = await current();
    const [held] = await opa.hold(tag);
    await publish('items');
    expect(await revisionIn(await held)).toBe('v2');

    const next = await current();
    const [late] = await opa.hold(next, 7);
    timers.advance(7_000);
    expect((await late)?.status).toBe(304);
  });

  it('is sent fifty times a second, and held for 256 requests', async () => {
    timers.advance(1_000);
    const tag = await current();
    const answers = await Promise.all(Array.from({ length: 55 }, () => opa.ask()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
    expect(answers.filter((answer) => answer.status === 429 && answer.headers.get('retry-after') === '1')).toHaveLength(
      6,
    );

    const held = await opa.hold(tag, 60, 256);
    const beyond = await opa.ask({ Prefer: 'wait=60', 'If-None-Match': tag });
    expect([beyond.status, beyond.headers.get('retry-after')]).toEqual([429, '1']);
    await publish('lines');
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    expect(statuses).toEqual(Array(256).fill(200));
  });

  it('is the same at every replica, which see each other’s publications and end waits when they stop', async () => {
    const otherTimers = new FakeTimers();
    const other = await startService(SETTINGS, { database: service.database, timers: otherTimers });
    const its = new Opa(other, otherTimers);
    await its.connect();
    timers.advance(1_000);
    const tag = await current();
    expect((await its.ask({ 'If-None-Match': tag })).status).toBe(304);
    const [held] = await its.hold(tag);
    await publish('returns');
    its.lookAgain();
    const renewed = await held;
    expect(await revisionIn(renewed)).toBe('v4');

    const [waiting] = await its.hold(renewed?.headers.get('etag') ?? '');
    const stopped = other.stop();
    expect((await waiting)?.status).toBe(304);
    await stopped;
  });

  it('is not on the port of the API, and takes no other method', async () => {
    expect(await admin.get(PATH)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect((await opa.ask({}, '/api/opa/bundles/other.tar.gz')).status).toBe(404);
    expect((await service.operations.inject({ method: 'POST', url: PATH })).statusCode).toBe(405);
  });
});

describe('without the target opa', () => {
  const service = sharedService({ OPA_TOKEN: TOKEN });

  it('there is no bundle', async () => {
    const { statusCode } = await service.operations.inject({
      url: PATH,
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(statusCode).toBe(404);
  });
});
