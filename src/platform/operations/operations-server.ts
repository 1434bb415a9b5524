import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify, type RouteOptions } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import { singleFlight } from '../../kernel/promises.js';
import type { HealthRegistry, HealthReport } from './health.js';
import { gauge, liveGauge } from './metrics.js';
import { problemHeaders, toProblem, toRefused } from '../http/problem.js';
import { VERSION } from './version.js';
import { leaveBodiesUnread } from '../http/body-limits.js';
import { AllowedMethods } from '../http/allowed-methods.js';
import { clientErrorHandler } from '../http/client-error-handler.js';
import type { Connections } from '../http/connections.js';
import { readParameters, refuseManyParameters } from '../http/parameters.js';

/** Routes that modules serve on the operations port, and that read bodies themselves. A module must add its routes before the service listens. */
export class OperationsRoutes {
  readonly routes: RouteOptions[] = [];

  add(route: RouteOptions): void {
    this.routes.push(route);
  }
}

/**
 * The server of the second port: health, metrics, and routes of modules. The port is never public, so health and metrics need no
 * authentication. Concurrent requests for health, and for metrics, share one computation.
 */
export function operationsServer(
  health: HealthRegistry,
  metrics: Registry,
  connections: Connections,
  routes = new OperationsRoutes(),
): FastifyInstance {
  const methods = new AllowedMethods();
  const server = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (answer) => connections.serve(answer),
    clientErrorHandler: clientErrorHandler(methods, connections),
    routerOptions: { querystringParser: readParameters },
  });
  leaveBodiesUnread(server);
  methods.watch(server);
  refuseManyParameters(server);
  const report = singleFlight(() => health.report());
  exposeHealth(metrics, report);
  exposeVersion(metrics);
  const metricsText = singleFlight(() => metrics.metrics());
  server.setErrorHandler((error, request, reply) => {
    const refusal = toRefused(error, request.url, methods);
    const problem = toProblem(refusal, request.id);
    if (refusal.code === 'method_not_allowed') void reply.header('Allow', methods.methodsOf(request.url)?.join(', '));
    void reply
      .status(problem.status)
      .headers(problemHeaders(refusal))
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify(problem));
  });
  server.get('/health/live', () => ({ status: 'up' }));
  server.get('/health/ready', async (_, reply) => {
    const healthReport = await report();
    return reply.status(healthReport.status === 'down' ? 503 : 200).send(healthReport);
  });
  server.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metricsText()));
  for (const route of routes.routes) server.route(route);
  return server;
}

/** Exposes the answer of `/health/ready` as metrics, because alerts cannot see probes. The health is checked at each scrape. */
function exposeHealth(registry: Registry, report: () => Promise<HealthReport>): void {
  const readyHelp = '1: this replica takes requests, as `/health/ready` says; 0: a part is down.';
  liveGauge(registry, 'grantline_ready', readyHelp, async () => ((await report()).status === 'down' ? 0 : 1));
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

/** Exposes versions as labels of a gauge that is always 1, as is usual in Prometheus. */
function exposeVersion(registry: Registry): void {
  const help = '1, with the `version` of this replica and of its `node`.';
  const buildGauge = gauge(registry, 'grantline_build_info', help, 'version', 'node');
  buildGauge.set({ version: VERSION, node: process.versions.node }, 1);
}
