import type { EngineSession } from './domain/engine-session.js';
import type { PageBudget, PageCharge } from './domain/page-budget.js';
import { EngineFault, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';

/** A page of the engine, and what it takes of the budget until the charge is released. */
export interface FetchedPage {
  page: StatementPage;
  charge: PageCharge;
}

/** Everybody's pages fill the budget: the page is asked for again at the next tick. */
class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/** Asks the engine for the pages of one query, whose bytes are counted as they come. */
export class PageFetcher {
  /** @param left no page is wanted any more. */
  constructor(
    private readonly client: StatementClient,
    private readonly budget: PageBudget,
    private readonly owner: string,
    private readonly session: EngineSession,
    private readonly left: AbortSignal,
  ) {}

  /** @param deadline on the monotonic clock of Timers. @throws EngineFault @throws NoRoom */
  async fetch(path: string, limits: { deadline: number; rowsHandedOut: boolean }): Promise<FetchedPage> {
    const charge = this.budget.open(this.owner);
    const ending = new AbortController();
    const leave = (): void => ending.abort(this.left.reason);
    const onBytes = (bytes: number): void => {
      const claim = charge.atLeast(bytes);
      if (claim === 'share') ending.abort(new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES'));
      if (claim === 'full') ending.abort(new NoRoom('QUERY_MAX_HELD_BYTES are held'));
    };
    this.left.addEventListener('abort', leave, { once: true });
    try {
      const { page } = await this.client.advance(path, this.session, { ...limits, signal: ending.signal, onBytes });
      return { page, charge };
    } catch (error) {
      charge.release();
      throw error;
    } finally {
      this.left.removeEventListener('abort', leave);
    }
  }
}
