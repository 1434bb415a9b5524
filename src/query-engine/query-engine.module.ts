import { readFileSync } from 'node:fs';
import { Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { EngineNames } from '../grants/domain/admission-ports.js';
import { EngineCatalog } from '../grants/domain/catalog.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Random } from '../kernel/ids.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { RowLoop } from './domain/row-loop.js';
import { NO_SERVICE_TOKENS, ServiceTokenSource } from './domain/service-token.js';
import { EngineCatalogListing } from './engine-catalog-listing.service.js';
import { EngineCatalogNames } from './engine-catalog-names.service.js';
import { EngineConnections } from './engine-connections.service.js';
import { EngineIdentity } from './engine-identity.service.js';
import { EngineLifecycle } from './engine-lifecycle.service.js';
import { EngineProbe } from './engine-probe.service.js';
import { OAuthServiceTokenSource } from './infrastructure/oauth-service-token-source.js';
import { QueriesController, RetiredRouteController } from './queries.controller.js';
import { QueriesService } from './queries.service.js';
import { QueryMetrics, ServiceTokenMetrics } from './query.metrics.js';
import { QueryExecutions } from './query-executions.service.js';
import { QueryStore } from './query.store.js';
import { RowStreams } from './row-streams.service.js';
import { TrinoStatementClient } from './trino-statement-client.js';

/** The WebAssembly program that build.js compiles from `row-loop/`. */
const ROW_LOOP = new URL('../../dist/row-loop.wasm', import.meta.url);

/** Global, because it implements ports of `grants` (EngineCatalog, EngineNames), which comes earlier in the order of the modules. */
@Global()
@Module({
  controllers: [QueriesController, RetiredRouteController],
  providers: [
    QueriesService,
    QueryExecutions,
    QueryMetrics,
    QueryStore,
    RowStreams,
    EngineConnections,
    EngineIdentity,
    EngineLifecycle,
    EngineProbe,
    { provide: EngineCatalog, useClass: EngineCatalogListing },
    { provide: EngineNames, useClass: EngineCatalogNames },
    { provide: RowLoop, useFactory: () => new RowLoop(readFileSync(ROW_LOOP)) },
    {
      provide: ServiceTokenSource,
      useFactory: serviceTokens,
      inject: [Settings, Registry, Timers, Random, Clock, Log],
    },
    {
      provide: TrinoStatementClient,
      useFactory: statementClient,
      inject: [Settings, ServiceTokenSource, Timers, Random, Clock, Log, RowLoop],
    },
  ],
  exports: [EngineProbe, EngineCatalog, EngineConnections, EngineNames],
})
export class QueryEngineModule {}

/** The constructor parameters of a class after the first one. */
type OtherParameters<C extends new (...parameters: never[]) => object> =
  ConstructorParameters<C> extends [unknown, ...infer Rest] ? Rest : never;

function serviceTokens(
  { engine }: Settings,
  metricsRegistry: Registry,
  ...[timers, random, clock, log]: OtherParameters<typeof OAuthServiceTokenSource>
): ServiceTokenSource {
  if (engine.jwt === null) return NO_SERVICE_TOKENS;
  return new OAuthServiceTokenSource(engine.jwt, timers, random, clock, log, new ServiceTokenMetrics(metricsRegistry));
}

function statementClient(
  { engine, queries }: Settings,
  ...parameters: OtherParameters<typeof TrinoStatementClient>
): TrinoStatementClient {
  // Without a configured engine no request is sent; the placeholder never resolves (RFC 6761).
  const origin = engine.origin ?? 'http://engine.invalid';
  const address = { ...engine, origin, path: '', headers: {}, password: null, maxPageBytes: queries.maxPageBytes };
  return new TrinoStatementClient(address, ...parameters);
}
