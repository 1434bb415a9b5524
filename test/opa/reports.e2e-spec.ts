import { gzipSync } from 'node:zlib';
import { Registry } from 'prom-client';
import { OpaReportsStore } from '../../src/acl-sync/opa-reports.store.js';
import { PublicationHistory } from '../../src/acl-sync/domain/publication-history.js';
import { CanaryService } from '../../src/opa/canary.service.js';
import { EngineProbe } from '../../src/query-engine/engine-probe.service.js';
import { ACL } from '../acl-sync/publishing-service.js';
import { column, failed, FakeTrino } from '../support/fakes/fake-trino.js';
import { LogBook } from '../support/fakes/log-book.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { administrator, people } from '../support/service/administrator.js';
import { RawConnection } from '../support/service/raw-connection.js';
import type { ApiClient } from '../support/service/api-client.js';
import { sharedService, startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';
import { realShapedReport } from './real-shaped-report.js';

const TOKEN = 'the-token-of-opa-0123456789-abcdef';
const SETTINGS = { ACL_TARGET: 'file,opa', OPA_TOKEN: TOKEN };
const CANARY = 'SELECT table_type FROM system.jdbc.table_types';
const METRICS_MS = 2_000;

/** Sends a body to the status route. @returns its answer */
const report = (service: TestService, payload: string | Buffer, headers: Record<string, string> = {}) =>
  service.operations.inject({
    method: 'POST',
    url: '/api/opa/status',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    payload,
  });
const statusOf = async (admin: ApiClient) => (await admin.get(`${ACL}/status`)).body ?? {};
const publishedRevision = async (admin: ApiClient): Promise<string> =>
  /"name":"opa","published":"(v\d+-[0-9a-f]{12})"/.exec(JSON.stringify(await statusOf(admin)))?.[1] ?? 'none';

describe('reports of OPA', () => {
  const timers = new FakeTimers();
  const service = sharedService(SETTINGS, { timers });
  let admin: ApiClient;
  let revision: string;
  beforeAll(async () => {
    admin = await administrator(service);
    await admin.post(`${ACL}/sync`);
    revision = await publishedRevision(admin);
  });

  const gauges = async (): Promise<string[]> => {
    timers.advance(METRICS_MS);
    const text = await service.metrics();
    return text
      .split('\n')
      .filter((line) => /^grantline_(opa_|acl_live\{target="opa"|acl_bytes\{target="opa")/.test(line));
  };
  const accept = async (instance: string, given: object = {}, at = service.clock.now()): Promise<void> => {
    const body = realShapedReport({ instance, revision, at, bundle: given });
    expect((await report(service, body)).statusCode).toBe(204);
  };

  it('say nothing about a version that is live as long as no instance has reported', async () => {
    const made = /^grantline_acl_bytes\{target="opa"\} [1-9]\d+$/m;
    await until(async () => made.test((await gauges()).join('\n')));
    expect((await gauges()).join('\n')).not.toContain('grantline_acl_live{target="opa"');
  });

  it('show the revision of each instance, and whether all decide by the newest', async () => {
    await accept('trino-0');
    await accept('trino-1', { active_revision: 'v0-0123456789ab' });
    const seen = { last_seen_at: service.clock.now().toISOString(), errors: [] };
    expect(await statusOf(admin)).toMatchObject({
      targets: [{ kind: 'file' }, { kind: 'opa', published: revision, live: null, outcome: 'available', error: null }],
      instances: [
        { instance: 'trino-0', revision, ...seen },
        { instance: 'trino-1', revision: 'v0-0123456789ab', ...seen },
      ],
      canary: null,
    });
    await until(async () => (await gauges()).includes('grantline_opa_instances{state="behind"} 1'));
    expect(await gauges()).toContain('grantline_acl_live{target="opa"} 0');

    await accept('trino-1');
    expect(await statusOf(admin)).toMatchObject({ targets: [{}, { live: revision }] });
    await until(async () => (await gauges()).includes('grantline_acl_live{target="opa"} 1'));
    const shown = await gauges();
    expect(shown).toEqual(expect.arrayContaining(['grantline_opa_instances{state="live"} 2']));
    expect(shown.join('\n')).toMatch(/^grantline_acl_bytes\{target="opa"\} [1-9]\d+$/m);
    expect(shown.join('\n')).not.toMatch(/^grantline_opa_canary /m);
  });

  it('show an error of the bundle, and one that is too old', async () => {
    await accept('trino-0', { code: 'bundle_error', message: 'verification failed' });
    expect(await statusOf(admin)).toMatchObject({
      targets: [{}, { live: revision, outcome: 'failed', error: 'trino-0: verification failed' }],
    });
    await accept('trino-0', {}, new Date(service.clock.now().getTime() - 301_000));
    expect(await statusOf(admin)).toMatchObject({
      instances: [{ errors: ['no answer about the bundle for 301 s'] }, {}],
    });
    await until(async () => (await gauges()).includes('grantline_opa_instances{state="error"} 1'));
    await accept('trino-0');
  });

  it.each<[string, number, string | Buffer, Record<string, string>]>([
    ['without the token', 401, '{}', { authorization: '' }],
    ['with another token', 401, '{}', { authorization: `Bearer ${TOKEN}x` }],
    ['packed', 415, gzipSync('{"labels":{"id":"packed"}}'), { 'content-encoding': 'gzip' }],
    ['of more than 1 MiB', 413, `{"labels":{"id":"${'x'.repeat(2 ** 20)}"}}`, {}],
    ['that is no JSON', 400, 'status=ok', {}],
    ['that is empty', 400, '', {}],
    ['that is a text', 415, '{"labels":{"id":"text"}}', { 'content-type': 'text/plain' }],
    ['of a form', 415, 'labels=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['that is a list', 400, '[]', {}],
    ['without labels', 400, '{"bundles":{}}', {}],
    ['whose name has a line end', 400, JSON.stringify({ labels: { instance: 'a\nb' } }), {}],
    ['whose name has NUL', 400, JSON.stringify({ labels: { instance: 'a\u0000b' } }), {}],
    ['whose name is too long', 400, JSON.stringify({ labels: { id: 'x'.repeat(254) } }), {}],
    ['with a prototype', 400, '{"labels":{"__proto__":{"id":"x"}}}', {}],
    ['that is nested deeply', 400, '['.repeat(500_000) + ']'.repeat(500_000), {}],
    ['with as many fields as fit', 400, `{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":0`).join()}}`, {}],
  ])('%s: %i', async (_, statusCode, body, headers) => {
    const begun = performance.now();
    expect(await report(service, body, headers)).toMatchObject({ statusCode });
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(await statusOf(admin)).toMatchObject({ instances: [{ instance: 'trino-0' }, { instance: 'trino-1' }] });
  });

  it('are received 32 at once, in 16,384 chunks at most', async () => {
    const url = await service.operations.listen({ host: '127.0.0.1', port: 0 });
    const begun = (more: string) =>
      `POST /api/opa/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n${more}\r\n`;
    // More than 32, because a report of `beyond` may take a place first, and one of these is refused then.
    const slow = await Promise.all(Array.from({ length: 40 }, () => RawConnection.open(url)));
    for (const connection of slow) connection.send(begun('Content-Length: 99\r\n') + '{');
    const beyond = async () =>
      (await report(service, realShapedReport({ instance: 'trino-0', revision, at: service.clock.now() }))).statusCode;
    await until(async () => (await beyond()) === 429);
    for (const connection of slow) connection.destroy();
    await until(async () => (await beyond()) === 204);

    const chunked = (await RawConnection.open(url)).send(begun('Transfer-Encoding: chunked\r\n'));
    chunked.send('1\r\n \r\n'.repeat(16_385));
    expect(await chunked.closed).toMatch(/^HTTP\/1.1 413 /);
  });

  it('of wrong types are those of an instance without a bundle', async () => {
    const bundles = { grantline: { active_revision: {}, errors: 'none', message: 7, last_successful_request: [] } };
    expect((await report(service, JSON.stringify({ labels: { id: 'odd' }, bundles }))).statusCode).toBe(204);
    expect(await statusOf(admin)).toMatchObject({
      instances: [{ instance: 'odd', revision: null, errors: [] }, {}, {}],
    });
  });

  it('do not count any more after five minutes: no version is live then', async () => {
    await until(async () => (await gauges()).includes('grantline_opa_instances{state="live"} 2'));
    service.clock.advance(301);
    await until(async () => (await gauges()).includes('grantline_opa_instances{state="live"} 0'));
    expect(await gauges()).toContain('grantline_acl_live{target="opa"} 0');
    expect(await statusOf(admin)).toMatchObject({ targets: [{}, { live: null }] });
  });

  it('are of 100 instances', async () => {
    service.clock.advance(1);
    for (let i = 0; i < 101; i++) {
      service.clock.advance(1);
      await accept(`many-${i}`);
    }
    const { instances } = await statusOf(admin);
    expect(instances).toHaveLength(100);
    expect(JSON.stringify(instances)).not.toMatch(/"(many-0|trino-0)"/);
  });
});

describe('the canary', () => {
  const engine = new FakeTrino();
  const other = new FakeTrino();
  const timers = new FakeTimers();
  const metrics = new Registry();
  let service: TestService;
  let admin: ApiClient;
  let serviceTimers: FakeTimers;
  let canary: CanaryService;
  let log: LogBook;
  let revision: string;
  let alice: number;
  beforeAll(async () => {
    const { hostname, port } = new URL(await engine.listen());
    const address = { SERVICE_QUERY_HOST: hostname, SERVICE_QUERY_PORT: port };
    serviceTimers = new FakeTimers();
    service = await startService({ ...SETTINGS, ...address, ACL_TARGET: 'opa,file' }, { timers: serviceTimers });
    admin = await administrator(service);
    ({ alice } = await people(service, 'alice'));
    log = new LogBook();
    const { app, clock } = service;
    const [history, probe, reports] = [app.get(PublicationHistory), app.get(EngineProbe), app.get(OpaReportsStore)];
    canary = new CanaryService(history, probe, reports, timers, clock, log, metrics);
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all([engine.close(), other.close()]);
  });

  const answers = (...rows: string[]): void =>
    engine.answers(CANARY, { columns: [column('table_type', 'varchar')], data: rows.map((row) => [row]) });
  const asked = (): number => engine.statements.filter(({ sql }) => sql === CANARY).length;
  const publish = async (): Promise<void> => {
    const grant = { principal: { type: 'user', id: alice }, resource: { catalog: 'sales', schema: `s${asked()}` } };
    await admin.post('/api/admin/grants', { ...grant, privileges: ['SELECT'] });
    expect(await admin.post(`${ACL}/sync`)).toMatchObject({ body: { outcome: 'applied' } });
    revision = await publishedRevision(admin);
  };
  const probed = async (afterMs: number): Promise<unknown> => {
    timers.advance(afterMs);
    service.clock.advance(afterMs / 1000);
    await canary.probe();
    return (await statusOf(admin))['canary'];
  };
  const gauge = async () => /^grantline_opa_canary (\d)$/m.exec(await metrics.metrics())?.[1];

  it('is asked nothing before the first publication', async () => {
    await canary.probe();
    expect(asked()).toBe(0);
    expect(await gauge()).toBeUndefined();
    expect(await service.metrics()).not.toMatch(/^grantline_opa_canary /m);
  });

  it('proves the newest version: asked every 2 s until then, and each minute afterwards', async () => {
    await publish();
    answers('v0-0123456789ab');
    expect(await probed(0)).toMatchObject({ answer: 'v0-0123456789ab' });
    expect([await gauge(), canary.intervalMs()]).toEqual([undefined, 2_000]);

    answers(revision);
    expect(await probed(2_000)).toEqual({ answer: revision, at: service.clock.now().toISOString() });
    expect(await gauge()).toBe('1');
    expect((await statusOf(admin))['targets']).toMatchObject([{}, { published: revision, live: revision }]);
    const so = asked();
    await probed(59_999);
    expect(asked()).toBe(so);
    await probed(1);
    expect(asked()).toBe(so + 1);
    expect(log.at('error')).toEqual([]);
  });

  it('makes the version live for the engine, where OPA is the first target', async () => {
    await until(async () => {
      serviceTimers.advance(METRICS_MS);
      return (await statusOf(admin))['live'] !== null;
    });
    const { targets, published } = await statusOf(admin);
    expect(targets).toMatchObject([
      { kind: 'file', live: null },
      { kind: 'opa', live: revision },
    ]);
    expect(published).toMatchObject({ version: 1 });
    expect(service.logLines.filter((line) => line.includes('TRINO_ACL_RULES_LIVE'))).toHaveLength(1);
    const text = await service.metrics();
    expect(text).toMatch(/^grantline_acl_live\{target="opa"\} 1$/m);
    expect(text).not.toMatch(/^grantline_acl_live\{target="file"\}/m);
    expect(text).toMatch(/^grantline_acl_grant_to_live_seconds_count 1$/m);
    expect(engine.statements.filter(({ sql }) => sql.startsWith('SET SESSION'))).toEqual([]);
  });

  it('may answer with the version before for 30 s', async () => {
    const former = revision;
    await publish();
    for (const ms of [0, 2_000, 27_999]) await probed(ms);
    expect([await gauge(), log.at('error')]).toEqual(['1', []]);
    expect((await statusOf(admin))['targets']).toMatchObject([{}, { published: revision, live: former, error: null }]);
    await probed(1);
    expect([await gauge(), canary.intervalMs(), log.at('error')]).toEqual(['0', 10_000, ['OPA_CANARY_WRONG']]);
  });

  it('may not answer with an old version for longer because newer ones follow, but with each of the last 30 s', async () => {
    answers(revision);
    await probed(10_000);
    const former = revision;
    for (let times = 0; times < 3; times++) {
      await publish();
      await probed(14_000);
    }
    expect([await gauge(), log.at('error').length]).toEqual(['1', 1]);
    answers(revision);
    await publish();
    await probed(14_000);
    await probed(2_000);
    expect([await gauge(), log.at('error').length]).toEqual(['1', 1]);
    answers(former);
    await probed(2_000);
    expect([await gauge(), log.at('error').length]).toEqual(['0', 2]);
  });

  it('may answer with a version that is published while the engine is asked', async () => {
    answers(revision);
    await probed(10_000);
    const before = log.lines.length;
    let goOn = (): void => undefined;
    engine.instead = [{ after: new Promise((resolve) => (goOn = resolve)), afterwards: true }];
    const isAsked = until(() => engine.instead.length === 0);
    const probe = probed(60_000);
    await isAsked;
    await publish();
    answers(revision);
    goOn();
    await probe;
    expect([await gauge(), canary.intervalMs(), log.lines.slice(before)]).toEqual(['1', 2_000, []]);
  });

  it('may not answer with the version of another database, even a later one', async () => {
    const [, version = '', hash = ''] = /^v(\d+)-(.*)$/.exec(revision) ?? [];
    for (const other of [`v${Number(version) + 900}-${hash}`, `v${version}-0123456789ab`]) {
      answers(revision);
      await probed(60_000);
      expect(await gauge()).toBe('1');
      answers(other);
      await probed(60_000);
      expect([await gauge(), log.lines.at(-1)]).toMatchObject(['0', { fields: { answer: other } }]);
    }
  });

  it.each<[string, () => void, string | null]>([
    ['no mask and no filter', () => answers('TABLE', 'VIEW'), 'TABLE, VIEW'],
    ['a mask without a filter', () => answers(revision, revision), 'VERSION, VERSION'],
    ['a filter without a mask', () => answers('TABLE'), 'TABLE'],
    ['no row', () => answers(), 'no row'],
    ['much', () => answers('x'.repeat(5_000)), 'x'.repeat(200)],
    ['an error', () => engine.answers(CANARY, failed('GENERIC_INTERNAL_ERROR', 'Failed to query OPA')), null],
  ])('is wrong with %s, which is logged once', async (_, prepare, answer) => {
    answers(revision);
    await probed(10_000);
    expect(await gauge()).toBe('1');
    const before = log.lines.length;
    prepare();

    expect(await probed(60_000)).toMatchObject({ answer: answer?.replaceAll('VERSION', revision) ?? null });
    await probed(10_000);
    expect(await gauge()).toBe('0');
    expect(log.lines.slice(before)).toMatchObject([{ message: 'OPA_CANARY_WRONG', fields: { revision } }]);
    expect((await statusOf(admin))['targets']).toMatchObject([{}, { live: null }]);
  });

  it('is not asked of an engine that reads the rules file, which is the first target', async () => {
    const { hostname, port } = new URL(await other.listen());
    const address = { SERVICE_QUERY_HOST: hostname, SERVICE_QUERY_PORT: port };
    const time = new FakeTimers();
    const reading = await startService({ ...SETTINGS, ...address }, { timers: time });
    const itsAdmin = await administrator(reading);
    await itsAdmin.post(`${ACL}/sync`);
    const markers = () => other.statements.filter(({ sql }) => sql.startsWith('SET SESSION')).length;
    await until(() => {
      time.advance(METRICS_MS);
      return markers() > 3;
    });

    const status = await statusOf(itsAdmin);
    await reading.stop();
    expect(other.statements.filter(({ sql }) => sql === CANARY)).toEqual([]);
    expect(status).toMatchObject({ canary: null });
  });
});
