import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { singleFlight } from '../../kernel/single-flight.js';
import type { HealthRegistry } from '../health.js';
import { toProblem } from '../problem.js';
import type { Connections } from './connections.js';
import { exposeHealth } from './health-gauges.js';

/**
 * The second port: health and metrics, never public, and so without authentication. Its requests must not be able to slow
 * down the first port: concurrent ones share an answer.
 */
export function operationsServer(health: HealthRegistry, metrics: Registry, connections: Connections): FastifyInstance {
  const server = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (answer) => connections.serve(answer),
  });
  const report = singleFlight(() => health.report());
  const text = singleFlight(() => metrics.metrics());
  exposeHealth(metrics, report);
  server.setNotFoundHandler((request, reply) => {
    const problem = toProblem(new Refused('not_found'), request.id);
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
