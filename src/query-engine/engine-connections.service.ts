import { Injectable } from '@nestjs/common';
import { Settings } from '../platform/settings.js';
import { Connection } from './connection.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import { Timers } from '../kernel/timers.js';
import { StatementClient } from './domain/statement-client.js';

export type ConnectOptions = Partial<EngineSession>;

/** The DB-API's `connect`: connections to the configured engine, each with its own session. */
@Injectable()
export class EngineConnections {
  constructor(
    private readonly client: StatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** @param options the session; the user is the service itself by default. */
  connect({ user = this.settings.engine.user, ...session }: ConnectOptions = {}): Connection {
    return new Connection(this.client, this.timers, sessionFor(user, session));
  }
}
