import type { Clock, Timers } from '../kernel/clock.js';
import { NamedError } from '../kernel/errors.js';
import type { Log } from '../platform/log/log.js';
import { EngineFault } from './domain/engine-error.js';
import type { EngineSession } from './domain/engine-session.js';
import type { ExecutionState } from './domain/execution-state.js';
import type { ByteBudget, Reservation } from './domain/held-page.js';
import type { StatementPage } from './domain/statement-page.js';
import type { QueryMetrics } from './query.metrics.js';
import type { QueryStore } from './query.store.js';
import type { TrinoStatementClient } from './trino-statement-client.js';

/** Resources that the executions of one replica share. */
export interface ExecutionResources {
  client: TrinoStatementClient;
  store: QueryStore;
  timers: Timers;
  clock: Clock;
  log: Log;
  metrics: QueryMetrics;
  budget: ByteBudget;
  replica: string;
  /** The most rows of a query; 0: no limit. */
  maxRows: number;
}

/** Thrown when a new page and the pages in memory exceed QUERY_MAX_HELD_BYTES. The page is fetched again at the next tick. */
class BudgetExhausted extends NamedError {}
/** Thrown when a new page exceeds the user's share of memory while the previous page is being read. The new page is fetched again once that reading has ended. */
export class ShareBeingRead extends NamedError {}

/** Fetches a page of a query and reserves its bytes as they arrive. @throws EngineFault @throws BudgetExhausted @throws ShareBeingRead */
export async function fetchPage(
  { client, clock, timers, budget, metrics }: ExecutionResources,
  { runAs, deadlineAt, rowsReturned }: ExecutionState,
  request: { path: string; session: EngineSession; signal: AbortSignal; isShareBeingRead: () => boolean },
): Promise<{ page: StatementPage; reservation: Reservation }> {
  const { path, session, signal, isShareBeingRead } = request;
  const reservation = budget.reserve(runAs);
  const onBytes = (bytes: number): void => {
    const outcome = reservation.raiseTo(bytes);
    if (outcome === 'full') throw new BudgetExhausted('QUERY_MAX_HELD_BYTES are held');
    if (outcome === 'share' && isShareBeingRead()) throw new ShareBeingRead('a share is being read');
    if (outcome === 'share') throw new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES');
  };
  try {
    const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
    const limits = { deadline, rowsHandedOut: rowsReturned > 0, signal, onBytes };
    const { page } = await client.advance(path, session, limits);
    return { page, reservation };
  } catch (error) {
    reservation.release();
    if (error instanceof EngineFault) metrics.countPageFailure(error.kind);
    if (error instanceof BudgetExhausted) metrics.countPageFailure('memory');
    throw error;
  }
}
