import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Registry, collectDefaultMetrics } from 'prom-client';
import { DataSource } from 'typeorm';
import { Clock, NodeTimers, SystemClock, Timers } from '../kernel/clock.js';
import { IdSource, Random, SystemRandom } from '../kernel/ids.js';
import { AccessGuard } from './http/access.guard.js';
import { type Database, DatabaseUrl, PooledClient, postgresConnection } from './database/database.js';
import { HealthRegistry } from './operations/health.js';
import { OperationsRoutes } from './operations/operations-server.js';
import { DatabaseClock } from './database/database-clock.js';
import { DatabaseSession } from './database/database-session.js';
import { pendingMigrations } from './database/migrator.js';
import { Log } from './log/log.js';
import { KeyedDigests } from './settings/keyed-digests.js';
import { Settings } from './settings/settings.js';
import { Transaction } from './database/transaction.js';
import { WorkBudgets, WorkGuard } from './http/work-budgets.js';

/** Objects that are made before Nest starts. */
export interface Foundation {
  settings: Settings;
  database: Pick<Database, 'url'>;
  log: Log;
  time?: Time;
}

/** Clock and timers of a test, instead of the database's clock and the machine's timers. `workTimers` are only for the work budgets. */
export interface Time {
  clock?: Clock;
  timers?: Timers;
  workTimers?: Timers;
}

/** The providers that every module uses. */
@Module({})
export class PlatformModule {
  static forRoot({ settings, database, log, time = {} }: Foundation): DynamicModule {
    const workBudgets = (timers: Timers): WorkBudgets => new WorkBudgets(time.workTimers ?? timers);
    const sharedProviders: Provider[] = [
      { provide: Settings, useValue: settings },
      { provide: DatabaseUrl, useValue: new DatabaseUrl(database.url) },
      { provide: Log, useValue: log },
      {
        provide: Clock,
        useFactory: (source: DataSource, timers: Timers, metricsRegistry: Registry): Promise<Clock> | Clock =>
          time.clock ??
          DatabaseClock.createAligned({
            source,
            timers,
            log,
            registry: metricsRegistry,
            machineClock: new SystemClock(),
          }),
        inject: [DataSource, Timers, Registry],
      },
      IdSource,
      { provide: Timers, useValue: time.timers ?? new NodeTimers() },
      { provide: Random, useClass: SystemRandom },
      { provide: WorkBudgets, useFactory: workBudgets, inject: [Timers] },
      AccessGuard,
      KeyedDigests,
      DatabaseSession,
      { provide: Transaction, useExisting: DatabaseSession },
      { provide: Registry, useFactory: metricsRegistry },
      { provide: HealthRegistry, useFactory: healthRegistry, inject: [DataSource] },
      OperationsRoutes,
    ];
    return {
      module: PlatformModule,
      global: true,
      imports: [
        PassportModule,
        TypeOrmModule.forRoot({
          type: 'postgres',
          synchronize: false,
          migrationsRun: false,
          retryAttempts: 3,
          retryDelay: 500,
          applicationName: 'grantline',
          extra: {
            ...postgresConnection(database.url),
            max: settings.database.poolMax,
            connectionTimeoutMillis: 3_000,
            query_timeout: 30_000,
            statement_timeout: 30_000,
            keepAlive: true,
            Client: PooledClient,
          },
        }),
      ],
      providers: [
        ...sharedProviders,
        { provide: APP_GUARD, useExisting: AccessGuard },
        { provide: APP_GUARD, useClass: WorkGuard },
      ],
      exports: [...sharedProviders, TypeOrmModule],
    };
  }
}

function metricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

function healthRegistry(source: DataSource): HealthRegistry {
  const registry = new HealthRegistry();
  registry.register('database', async () => {
    await source.query('SELECT 1');
    return 'up';
  });
  registry.register('migrations', async () => ((await pendingMigrations(source)) === 0 ? 'up' : 'down'));
  return registry;
}
