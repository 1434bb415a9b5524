import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { singleFlight } from '../../kernel/promises.js';
import type { HealthRegistry, HealthReport } from './health.js';
import { liveGauge } from './metrics.js';
import { toProblem } from '../http/problem.js';
import { VERSION } from './version.js';
import { AllowedMethods } from '../http/allowed-methods.js';
import { clientErrorHandler } from '../http/client-error-handler.js';
import type { Connections } from '../http/connections.js';
import { readParameters, refuseManyParameters } from '../http/parameters.js';

/** Serves health and metrics on the second port, which is never public and so needs no authentication. Concurrent requests share their work. */
export function operationsServer(health: HealthRegistry, metrics: Registry, connections: Connections): FastifyInstance {
  const methods = new AllowedMethods();
  const server = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (answer) => connections.serve(answer),
    clientErrorHandler: clientErrorHandler(methods, connections),
    routerOptions: { querystringParser: readParameters },
  });
  methods.watch(server);
  refuseManyParameters(server);
  const report = singleFlight(() => health.report());
  exposeHealth(metrics, report);
  exposeVersion(metrics);
  const text = singleFlight(() => metrics.metrics());
  server.setErrorHandler((error, request, reply) => {
    const refused = error instanceof Refused ? error : new Refused('internal_error', { cause: error });
    const problem = toProblem(refused, request.id);
    if (refused.code === 'method_not_allowed') void reply.header('Allow', methods.methodsOf(request.url)?.join(', '));
    void reply.status(problem.status).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
  });
  server.get('/health/live', () => ({ status: 'up' }));
  server.get('/health/ready', async (_, reply) => {
    const found = await report();
    return reply.status(found.status === 'down' ? 503 : 200).send(found);
  });
  server.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await text()));
  return server;
}

/** Exposes the answer of `/health/ready` as metrics, checked at each scrape, because alerts cannot see probes. */
function exposeHealth(registry: Registry, report: () => Promise<HealthReport>): void {
  const ready = '1: this replica takes requests, as `/health/ready` says; 0: a part is down.';
  liveGauge(registry, 'grantline_ready', ready, async () => ((await report()).status === 'down' ? 0 : 1));
  new Gauge({
    name: 'grantline_degraded',
    help: '1: the `part` of `/health/ready` is degraded or down.',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      for (const [part, health] of Object.entries((await report()).parts)) this.set({ part }, health === 'up' ? 0 : 1);
    },
  });
}

/** Exposes versions as labels of a gauge that is always 1, as is customary. */
function exposeVersion(registry: Registry): void {
  const help = '1, with the `version` of this replica and of its `node`.';
  const build = new Gauge({
    ...{ name: 'grantline_build_info', help },
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version: VERSION, node: process.versions.node }, 1);
}
