import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { administrator } from '../support/service/administrator.js';
import type { ApiClient } from '../support/service/api-client.js';
import { sharedFolder } from '../support/service/shared-folder.js';
import { until } from '../support/service/until.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { recordSpans, type SeenSpan } from '../support/fakes/fake-tracer.js';
import { ended, QueriesUnderTest, submitted } from '../query-engine/queries-under-test.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const HEADERS = { traceparent: TRACEPARENT, tracestate: 'vendor=1' };

describe('a trace that a request belongs to', () => {
  const folder = sharedFolder('grantline-tracing-');
  const api = new FakeKubernetesApi();
  let queries: QueriesUnderTest;
  let admin: ApiClient;
  let anaId: unknown;
  let tokens = 1;

  beforeAll(async () => {
    writeFileSync(join(folder, 'token'), 'token-1');
    queries = await QueriesUnderTest.start({
      ACL_TARGET: 'configmap',
      ACL_CONFIGMAP_NAMESPACE: 'engine',
      ACL_CONFIGMAP_NAME: 'trino-access-control',
      ACL_METADATA_CATALOG: 'none',
      KUBERNETES_API_URL: await api.listen(),
      KUBERNETES_TOKEN_FILE: join(folder, 'token'),
      KUBERNETES_CA_FILE: join(folder, 'token'),
    });
    admin = await administrator(queries.service);
    anaId = (await queries.ana.get('/api/auth/me')).body?.['id'];
  });
  afterAll(async () => {
    await queries.stop();
    await api.close();
  });

  const grant = (schema: string) => ({
    principal: { type: 'user', id: anaId },
    resource: { catalog: 'sales', schema },
    privileges: ['SELECT'],
  });

  /** A query whose token the engine refuses, a grant and a run. @returns what reached the others meanwhile */
  async function work(headers: Record<string, string>) {
    const { ana, engine, keycloak } = queries;
    tokens += 1;
    engine.mode = {
      kind: 'verified',
      refusalOf: (token) => (token === FakeKeycloak.token(tokens) ? null : 'JWT expired'),
    };
    const before = [engine.requests.length, keycloak.headers.length, api.requests.length];
    const query = await ana.send('POST', '/api/queries', { sql: 'SELECT 1' }, headers);
    const granted = await admin.send('POST', '/api/admin/grants', grant(`schema_${tokens}`), headers);
    const run = await admin.send('POST', '/api/admin/acl/sync', undefined, headers);
    expect([query.status, granted.status, run.status]).toEqual([201, 201, 200]);
    await ana.delete(query.headers.get('location') ?? '');
    return {
      // The engine watch asks meanwhile, as the service.
      engine: engine.requests
        .slice(before[0])
        .find(
          ({ method, headers: sent }) => method === 'POST' && (sent['x-trino-user'] ?? sent['x-query-user']) === 'ana',
        )?.headers,
      provider: keycloak.headers[before[1] ?? 0],
      apiServer: api.requests.slice(before[2]).find(({ method }) => method === 'PATCH')?.headers,
    };
  }

  it('goes on to the engine, the identity provider and the API server', async () => {
    const { engine, provider, apiServer } = await work(HEADERS);

    for (const headers of [engine, provider, apiServer]) expect(headers).toMatchObject(HEADERS);
  });

  it.each([
    {},
    { traceparent: '00-1-2-3' },
    { traceparent: `${TRACEPARENT}-more` },
    { traceparent: `ff${TRACEPARENT.slice(2)}` },
  ])('is not made up: %j', async (headers) => {
    const { engine, provider, apiServer } = await work(headers);

    for (const seen of [engine, provider, apiServer]) {
      expect(seen).toBeDefined();
      expect(seen).not.toHaveProperty('traceparent');
    }
  });

  describe('with a tracer', () => {
    let spans: SeenSpan[];
    beforeEach(() => void (spans = recordSpans()));
    afterEach(() => trace.disable());

    const named = (name: string) => spans.find((span) => span.name === name && span.traceId === TRACE);

    it('has spans for requests, the statement on the engine, the proof and the run', async () => {
      const { engine, apiServer } = await work(HEADERS);
      await until(() => Promise.resolve(spans.every(({ isEnded }) => isEnded)));

      const query = named('POST /api/queries');
      expect(query).toMatchObject({
        parentId: 'b7ad6b7169203331',
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/api/queries',
          'http.response.status_code': 201,
        },
      });
      expect(named('engine statement')).toMatchObject({ parentId: query?.spanId });
      expect(engine).toMatchObject({ traceparent: `00-${TRACE}-${query?.spanId}-01` });
      const run = named('rules run');
      expect(run).toMatchObject({
        parentId: named('POST /api/admin/acl/sync')?.spanId,
        attributes: { 'grantline.trigger': 'route', 'grantline.outcome': 'applied' },
      });
      expect(apiServer).toMatchObject({ traceparent: `00-${TRACE}-${run?.spanId}-01` });
      const proofs = spans.filter(({ name }) => name === 'rules proof').map(({ parentId }) => parentId);
      expect(proofs).toEqual([named('POST /api/admin/grants')?.spanId, run?.spanId]);
    });

    it('names no path, and ends the span of a statement with it', async () => {
      const { ana } = queries;
      await ended(ana, await submitted(ana, { sql: 'SELECT 1; SELECT 1' }));
      await ana.get('/api/nowhere');

      // The service's own statements, by which it asks what rules are in force, have no query.
      const statement = spans.find(({ attributes }) => attributes['grantline.query_id'] !== undefined);
      expect(statement).toMatchObject({ name: 'engine statement', isEnded: true });
      expect(statement?.attributes).toMatchObject({ 'grantline.state': 'failed' });
      expect(new Set(spans.map(({ name }) => name))).toEqual(
        new Set(['POST /api/queries', 'GET /api/queries/:id', 'GET', 'engine statement']),
      );
    });
  });
});
