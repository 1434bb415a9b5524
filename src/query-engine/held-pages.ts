import type { PageCharge } from './domain/page-budget.js';
import type { PageRows } from './domain/page-rows.js';
import { covers, type PageSpan } from './domain/row-window.js';

/** A page of the engine in memory, counted against the budget. */
export interface HeldPage extends PageSpan {
  rows: PageRows;
  charge: PageCharge;
}

/**
 * The pages of one query in memory: the one that waits to be read, and the one before it until newer rows are handed
 * out. The budget may evict either at any time: the first is fetched from the engine again, the second is gone.
 */
export class HeldPages {
  private current: HeldPage | null = null;
  private before: HeldPage | null = null;

  /** The page that waits; null: none is in memory. */
  get waiting(): HeldPage | null {
    return this.current;
  }

  /** A reader still has the page before the one that waits, as a stream does whose next page comes meanwhile. */
  get isReadBehind(): boolean {
    return this.before !== null && !this.before.charge.rests;
  }

  /** The page that holds that row; null: it is not in memory. */
  covering(row: number): HeldPage | null {
    return [this.current, this.before].find((page) => page !== null && covers(page, row)) ?? null;
  }

  hold(page: HeldPage): void {
    this.current?.charge.release();
    this.current = page;
    page.charge.rest(() => {
      if (this.current === page) this.current = null;
      if (this.before === page) this.before = null;
    });
  }

  /** The page that waited has been read to its end. */
  turn(): void {
    this.forgetRead();
    this.finish();
    this.before = this.current;
    this.current = null;
  }

  /** The page that waited is only there to be asked for again: it makes room for others of its owner. */
  finish(): void {
    this.current?.charge.spare();
  }

  forgetRead(): void {
    this.before?.charge.release();
    this.before = null;
  }

  drop(): void {
    this.forgetRead();
    this.current?.charge.release();
    this.current = null;
  }
}
