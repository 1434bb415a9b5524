import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { RulesTargetMoved, RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { ConfigMapRulesTarget } from '../../src/acl-sync/infrastructure/configmap-rules-target.js';
import { KubernetesApi } from '../../src/acl-sync/infrastructure/kubernetes-api.js';
import { VERSION } from '../../src/platform/operations/version.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { SkippingTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';

const forever = new AbortController().signal;

describe('the rules in a ConfigMap', () => {
  let server: FakeKubernetesApi;
  let target: ConfigMapRulesTarget;
  let directory: string;
  let timers: SkippingTimers;
  let log: LogBook;

  beforeEach(async () => {
    server = new FakeKubernetesApi();
    const apiUrl = await server.listen();
    directory = await mkdtemp(join(tmpdir(), 'configmap-'));
    await writeToken('token-1\n');
    timers = new SkippingTimers();
    log = new LogBook();
    const api = new KubernetesApi({ apiUrl, caFile: '', tokenFile: tokenFile() }, timers);
    target = new ConfigMapRulesTarget(
      api,
      { namespace: 'engine', name: 'trino-access-control', key: 'configmap:engine/trino-access-control' },
      log,
    );
  });

  afterEach(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });

  const tokenFile = () => join(directory, 'token');
  const writeToken = (text: string) => writeFile(tokenFile(), text);
  const publish = async (text: string) =>
    target.publish(
      { text, hash: '9f31c2', generation: 7, publishedAt: new Date('2026-11-20T08:00:00.000Z') },
      await target.read(forever),
      forever,
    );
  const failureOf = (work: Promise<unknown>): Promise<RulesTargetUnavailable> =>
    work.then(
      () => {
        throw new Error('it did not fail');
      },
      (failure: unknown) => {
        if (failure instanceof RulesTargetUnavailable) return failure;
        throw failure;
      },
    );

  it('annotates the map with the publication and its writer', async () => {
    await publish('rules');
    expect(server.map?.metadata.annotations).toEqual({
      'grantline.io/rules-hash': '9f31c2',
      'grantline.io/generation': '7',
      'grantline.io/published-at': '2026-11-20T08:00:00.000Z',
    });
    server.edit({ data: { 'rules.json': 'by hand' } });
    expect(await target.read(forever)).toMatchObject({
      text: 'by hand',
      namedVersion: { generation: 7, hash: '9f31c2' },
    });
    expect(server.requests.at(-2)?.url).toMatch(/[?]fieldManager=grantline$/);
    expect(server.requests.at(-1)?.headers['user-agent']).toBe(`grantline/${VERSION}`);
  });

  it.each([
    'a sign-in page',
    {},
    { metadata: { uid: '1', resourceVersion: '2' }, data: { 'rules.json': 'changed by a webhook' } },
  ])('takes no other answer than the written map for a publication: %j', async (body) => {
    await publish('first');
    const live = await target.read(forever);
    server.instead.push({ status: 200, body });
    const next = { text: 'second', hash: '9f31c2', generation: 8, publishedAt: new Date(0) };
    expect(await failureOf(target.publish(next, live, forever))).toMatchObject({ reason: 'rejected' });
    expect(server.map?.data?.['rules.json']).toBe('first');
  });

  it('leaves the other keys of the map alone', async () => {
    server.edit({ data: { 'README.txt': 'kept' } });
    await publish('rules');
    expect(server.map?.data).toEqual({ 'README.txt': 'kept', 'rules.json': 'rules' });
  });

  it('keeps the previous text compressed when both would not fit, and as text again when they do', async () => {
    const large = 'x'.repeat(900_000);
    await publish('first');
    await publish(large);
    await publish('y'.repeat(900_000));
    expect(server.map?.data?.['rules.json.bak']).toBeUndefined();
    const kept = Buffer.from(server.map?.binaryData?.['rules.json.bak'] ?? '', 'base64');
    expect(gunzipSync(kept).toString()).toBe(large);
    expect(log.at('info')).toEqual([expect.stringContaining('compressed')]);

    await publish('small');
    expect(server.map?.binaryData).toBeUndefined();
    expect(server.map?.data).toEqual({ 'rules.json': 'small', 'rules.json.bak': 'y'.repeat(900_000) });
  });

  it('counts bytes, not characters', async () => {
    await publish('é'.repeat(262_144));
    await publish('é'.repeat(262_144) + '.');
    expect(server.map?.binaryData?.['rules.json.bak']).toBeDefined();
  });

  it('keeps an edit by hand that is no UTF-8 as it was', async () => {
    const byHand = Buffer.from('{"user": "andr\u00e9"}', 'latin1').toString('base64');
    server.edit({ data: {}, binaryData: { 'rules.json': byHand } });
    await publish('rules');
    expect(server.map?.binaryData).toEqual({ 'rules.json.bak': byHand });
    await publish('others');
    expect(server.map?.data).toEqual({ 'rules.json': 'others', 'rules.json.bak': 'rules' });
    expect(server.map?.binaryData).toBeUndefined();
  });

  it('reads a text that was put into binaryData by hand, and moves it to data', async () => {
    server.edit({ binaryData: { 'rules.json': Buffer.from('by hand').toString('base64') } });
    expect((await target.read(forever)).text).toBe('by hand');
    await publish('rules');
    expect(server.map?.data).toEqual({ 'rules.json': 'rules', 'rules.json.bak': 'by hand' });
  });

  it('takes a map that was deleted and made again for a moved one', async () => {
    const live = await target.read(forever);
    server.create();
    await expect(
      target.publish({ text: 'rules', hash: 'h', generation: 1, publishedAt: new Date(0) }, live, forever),
    ).rejects.toBeInstanceOf(RulesTargetMoved);
    // The same resourceVersion by chance: the uid still distinguishes them.
    const [, version = ''] = (await target.read(forever)).revision.split('/');
    await expect(
      target.publish(
        { text: 'rules', hash: 'h', generation: 1, publishedAt: new Date(0) },
        { text: null, revision: `uid-0/${version}` },
        forever,
      ),
    ).rejects.toBeInstanceOf(RulesTargetMoved);
  });

  it('reads the token again for every request, and once more when it is refused', async () => {
    await target.read(forever);
    server.tokens = new Set(['token-2']);
    await writeToken('token-2');
    await target.read(forever);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);

    server.tokens = new Set(['token-3']);
    expect((await failureOf(target.read(forever))).reason).toBe('unauthorized');
    expect(server.requests).toHaveLength(4);
  });

  it.each(['', '  \n', 'two\nlines', 'naïve'])('refuses the token file content %j without quoting it', async (text) => {
    await writeToken(text);
    const failure = await failureOf(target.read(forever));
    expect(failure.reason).toBe('misconfigured');
    expect(failure.message).toBe(`${tokenFile()} holds no token`);
    expect(server.requests).toEqual([]);
  });

  it('honours Retry-After, and gives up after five tries', async () => {
    server.instead = [
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 503, headers: { 'retry-after': 'soon' } },
    ];
    await target.read(forever);
    expect(timers.waits).toEqual([3000, 500]);

    server.instead = Array.from({ length: 9 }, () => ({ status: 503 }));
    expect((await failureOf(target.read(forever))).reason).toBe('unreachable');
    expect(server.instead).toHaveLength(4);
  });

  it('tries a 500 twice', async () => {
    server.instead = Array.from({ length: 9 }, () => ({ status: 500 }));
    expect((await failureOf(target.read(forever))).reason).toBe('unreachable');
    expect(server.instead).toHaveLength(7);
  });

  it('asks again after a lost connection; a patch that did arrive shows as moved', async () => {
    server.instead = [{ status: 0, hangUp: true }];
    const live = await target.read(forever);
    server.instead = [{ status: 0, hangUp: true, afterwards: true }];
    const next = { text: 'rules', hash: 'h', generation: 1, publishedAt: new Date(0) };
    await expect(target.publish(next, live, forever)).rejects.toBeInstanceOf(RulesTargetMoved);
    expect((await target.read(forever)).text).toBe('rules');
  });

  it('asks a server that is silent once more, and not for as long as a run may take', async () => {
    let connections = 0;
    const silent = createServer(() => (connections += 1));
    await new Promise<void>((ready) => silent.listen(0, '127.0.0.1', ready));
    const apiUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const api = new KubernetesApi({ apiUrl, caFile: '', tokenFile: tokenFile() }, timers, 50);

    expect(await failureOf(api.get('/', forever))).toMatchObject({ reason: 'unreachable' });
    expect(connections).toBe(2);
    silent.close();
  });

  it('stops waiting when the run is out of time', async () => {
    const run = new AbortController();
    server.instead = [{ status: 503, headers: { 'retry-after': '3600' } }];
    run.abort();
    expect((await failureOf(target.read(run.signal))).reason).toBe('timeout');
  });

  it.each([
    ['missing', () => (server.map = null)],
    ['forbidden', () => (server.instead = [{ status: 403, body: { reason: 'Forbidden' } }])],
    ['rejected', () => (server.instead = [{ status: 302, headers: { location: 'http://127.0.0.1:9/' } }])],
    ['rejected', () => (server.instead = [{ status: 200, body: ['not', 'a', 'map'] }])],
  ])('calls the target %s', async (reason, happen) => {
    happen();
    const failure = await failureOf(target.read(forever));
    expect(failure.reason).toBe(reason);
    expect(failure.auditId).toBe('audit-7');
  });

  it('reports why a map cannot be written, but never its content', async () => {
    await publish('live');
    server.edit({ data: { 'rules.json': 'live' }, immutable: true });
    const immutable = await failureOf(publish('next'));
    expect(immutable.reason).toBe('immutable');
    expect(immutable.message).toBe('configmap engine/trino-access-control: 422 Invalid, FieldValueForbidden on data');

    server.create();
    const tooLarge = await failureOf(publish('x'.repeat(1_048_577)));
    expect(tooLarge.reason).toBe('too-large');
    expect(tooLarge.message).not.toContain('LIVE-RULES');
  });
});
