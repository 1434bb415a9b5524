import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import type { HealthRegistry } from '../health.js';
import { toProblem } from '../problem.js';

/** The second port: health and metrics, never public, and so without authentication. */
export function operationsServer(health: HealthRegistry, metrics: Registry): FastifyInstance {
  const server = fastify({ logger: false, genReqId: () => randomUUID() });
  server.setNotFoundHandler((request, reply) => {
    const problem = toProblem(new Refused('not_found'), request.id);
    void reply.status(problem.status).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
  });
  server.get('/health/live', () => ({ status: 'up' }));
  server.get('/health/ready', async (_, reply) => {
    const report = await health.report();
    return reply.status(report.status === 'down' ? 503 : 200).send(report);
  });
  server.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await metrics.metrics()));
  return server;
}
