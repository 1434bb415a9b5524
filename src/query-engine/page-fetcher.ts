import { NamedError } from '../kernel/named-error.js';
import type { EngineSession } from './domain/engine-session.js';
import type { PageBudget, PageCharge } from './domain/page-budget.js';
import { EngineFault, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import type { QueryMetrics } from './query.metrics.js';

/** A page of the engine, and its charge on the budget until that is released. */
export interface FetchedPage {
  page: StatementPage;
  charge: PageCharge;
}

/** The budget is used up: the page is fetched again at the next tick. */
class BudgetExhausted extends NamedError {}

/** Fetches the pages of one query, and counts their bytes as they are received. */
export class PageFetcher {
  /** @param released aborted when no page is wanted any more. */
  constructor(
    private readonly client: StatementClient,
    private readonly resources: { budget: PageBudget; metrics: QueryMetrics },
    private readonly owner: string,
    private readonly session: EngineSession,
    private readonly released: AbortSignal,
  ) {}

  /** @param deadline on the monotonic clock of Timers. @throws EngineFault @throws BudgetExhausted */
  async fetch(path: string, limits: { deadline: number; rowsHandedOut: boolean }): Promise<FetchedPage> {
    const { budget, metrics } = this.resources;
    const charge = budget.open(this.owner);
    const ending = new AbortController();
    const abort = (): void => ending.abort(this.released.reason);
    const onBytes = (bytes: number): void => {
      const claim = charge.atLeast(bytes);
      if (claim === 'share') ending.abort(new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES'));
      if (claim === 'full') ending.abort(new BudgetExhausted('QUERY_MAX_HELD_BYTES are held'));
    };
    this.released.addEventListener('abort', abort, { once: true });
    try {
      const { page } = await this.client.advance(path, this.session, { ...limits, signal: ending.signal, onBytes });
      return { page, charge };
    } catch (error) {
      charge.release();
      if (error instanceof EngineFault) metrics.pageFailed(error.kind);
      if (error instanceof BudgetExhausted) metrics.pageFailed('memory');
      throw error;
    } finally {
      this.released.removeEventListener('abort', abort);
    }
  }
}
