import type { Drive } from './query-store.js';

/** Milliseconds. */
export const PATIENCE = {
  /** api.md: rows that nobody fetches. */
  abandoned: 300_000,
  /** How long a page that was handed out to its end can be had again from any replica, before the engine is asked on. */
  newestPage: 5_000,
  /** How often the engine hears that a page still waits; it gives up after 5 minutes (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * What time demands of a query: `expire` at QUERY_MAX_SECONDS after the POST; `abandon` for want of a reader; `go-on`
 * where nothing waits; `move-on` if the page that waits has been read to its end; `wait` otherwise.
 */
export type Due = 'expire' | 'abandon' | 'go-on' | 'move-on' | 'wait';

type Standing = Pick<Drive, 'deadlineAt' | 'waitingSince' | 'pageStart' | 'rowsReturned'>;

export function whatIsDue({ deadlineAt, waitingSince, pageStart, rowsReturned }: Standing, now: Date): Due {
  if (now >= deadlineAt) return 'expire';
  if (waitingSince === null) return 'go-on';
  const waiting = now.getTime() - waitingSince.getTime();
  if (waiting >= PATIENCE.abandoned) return 'abandon';
  return waiting >= PATIENCE.newestPage && rowsReturned > pageStart ? 'move-on' : 'wait';
}
