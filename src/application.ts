import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import cors from '@fastify/cors';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Registry } from 'prom-client';
import { AppModule } from './app.module.js';
import { SCIM_ERRORS } from './identity/scim/scim-request.js';
import { serveConsole } from './console/console-pages.js';
import { refuseOtherSites } from './console/console-site.js';
import { leaveBodiesUnread } from './platform/http/body-limits.js';
import type { Database } from './platform/database/database.js';
import { HealthRegistry } from './platform/operations/health.js';
import { AllowedMethods } from './platform/http/allowed-methods.js';
import { serveApiDescription } from './platform/http/api-description.js';
import { clientErrorHandler, refuseTunnels } from './platform/http/client-error-handler.js';
import { ConnectionDrain, Connections, requireOneHost } from './platform/http/connections.js';
import { InputPipe } from './platform/http/input.pipe.js';
import { NestLog } from './platform/log/pino-log.js';
import { OperationsRoutes, operationsServer } from './platform/operations/operations-server.js';
import { readParameters, refuseManyParameters } from './platform/http/parameters.js';
import { ProblemFilter } from './platform/http/problem.js';
import { RequestRecords } from './platform/http/request-records.js';
import { STANDARD_HEADERS } from './platform/http/security-headers.js';
import type { Log } from './platform/log/log.js';
import { Clock } from './kernel/clock.js';
import { describeApi } from './platform/http/openapi.js';
import type { Time } from './platform/platform.module.js';
import { liveCounter } from './platform/operations/metrics.js';
import type { Settings } from './platform/settings/settings.js';
import { traceRequests } from './platform/operations/tracing.js';
import { VERSION } from './platform/operations/version.js';
import { WorkBudgets } from './platform/http/work-budgets.js';

export interface Application {
  app: NestFastifyApplication;
  /** Health and metrics, on a port of their own. */
  operations: FastifyInstance;
  /** Stops the service. Background work ends while requests in flight are answered. Aborting `deadline` breaks off the remaining answers. */
  close: (deadline: AbortSignal) => Promise<void>;
}

/** Assembles the service, which does not listen for requests yet. */
export async function createApplication(
  settings: Settings,
  database: Pick<Database, 'url'>,
  log: Log,
  time: Time = {},
): Promise<Application> {
  const allowedMethods = new AllowedMethods();
  const requestRecords = new RequestRecords(log);
  const problemFilter = new ProblemFilter(allowedMethods, requestRecords, log, [SCIM_ERRORS]);
  const connections = new Connections(settings.http, log);
  const adapter = new FastifyAdapter({
    logger: false,
    trustProxy: (_: string, hop: number) => hop < settings.http.trustedProxyHops,
    genReqId: (request: IncomingMessage) => acceptableRequestId(request.headers['x-request-id']) ?? randomUUID(),
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      requestRecords.track(request, reply); // before any hook
      problemFilter.answer(error, request, reply.headers({ ...STANDARD_HEADERS, 'X-Request-Id': request.id }));
    },
    clientErrorHandler: clientErrorHandler(allowedMethods, connections, requestRecords),
    serverFactory: (listener: RequestListener) => connections.serve(listener),
    skipMiddie: true, // no Express middleware: looking for it would cost every request
    routerOptions: { maxParamLength: 256, querystringParser: readParameters },
    return503OnClosing: false, // requests that arrive while the service stops are answered (ConnectionDrain)
  });
  const server = adapter.getInstance<FastifyInstance>();
  traceRequests(server);
  allowedMethods.watch(server);
  const drain = new ConnectionDrain(server, connections);
  requireOneHost(server);
  refuseTunnels(server.server, connections, requestRecords);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forFoundation({ settings, database, log, time }),
    adapter,
    {
      logger: new NestLog(log),
      abortOnError: false,
      bodyParser: false,
    },
  );
  leaveBodiesUnread(server);
  requestRecords.watch(server);
  app.get(WorkBudgets).watch(server);
  server.addHook('onRequest', (request, reply, done) => {
    void reply.headers(STANDARD_HEADERS).header('X-Request-Id', request.id);
    done();
  });
  refuseManyParameters(server);
  refuseOtherSites(server, settings);
  if (settings.http.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: [...settings.http.corsOrigins],
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['Location', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'X-Request-Id'],
      maxAge: 600,
      strictPreflight: false, // a strict preflight answers a plain OPTIONS with a text
    });
  }
  app.useGlobalFilters(problemFilter);
  app.useGlobalPipes(new InputPipe());
  serveApiDescription(server, () => describeApi(app, VERSION, app.get(Clock).now()));
  if (settings.console.enabled) serveConsole(server);
  await app.init();
  const metrics = app.get<Registry>(Registry);
  requestRecords.exposeIn(metrics);
  const droppedHelp = 'Log lines that were not written because earlier ones were not read.';
  liveCounter(metrics, 'grantline_log_lines_dropped_total', droppedHelp, () => log.droppedLines());
  const opsConnections = new Connections(settings.http, log);
  const operations = operationsServer(app.get(HealthRegistry), metrics, opsConnections, app.get(OperationsRoutes));
  const close = async (deadline: AbortSignal): Promise<void> => {
    app.get(HealthRegistry).register('process', () => Promise.resolve('down'));
    deadline.addEventListener('abort', () => drain.breakOff(), { once: true });
    await Promise.all([drain.begin(), app.close()]);
  };
  return { app, operations, close };
}

/** The request id that a caller sent, if it is short and has only plain characters, so that it cannot forge log lines; otherwise null. */
function acceptableRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.-]{1,128}$/.test(header) ? header : null;
}
