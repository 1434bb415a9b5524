import type { ExecutionState } from './query-store.js';

/** Milliseconds. */
export const EXECUTION_TIMEOUTS = {
  /** How long a reader waits for rows. */
  read: 10_000,
  /** Until unread rows end the query. */
  abandoned: 300_000,
  /** How long a page that was read to its end can still be read again on any replica, before the next one is fetched. */
  newestPage: 5_000,
  /** Between two signs of life for the engine, which cancels after 5 minutes (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * The action of a tick on a query: `expire` at QUERY_MAX_SECONDS after the POST, whoever reads; `abandon` for want of a reader
 * (one who asks for the newest page again reads nothing); `resume` where no page waits; `fetch-next` if the page that waits
 * has been read to its end; `wait` otherwise.
 */
export type Action = 'expire' | 'abandon' | 'resume' | 'fetch-next' | 'wait';

interface Timing extends Pick<ExecutionState, 'deadlineAt' | 'waitingSince' | 'pageStart' | 'rowsReturned'> {
  /** A reader waits for rows that nobody has read. */
  isReadOn: boolean;
}

export function nextAction(timing: Timing, now: Date): Action {
  const { deadlineAt, waitingSince, pageStart, rowsReturned, isReadOn } = timing;
  if (now >= deadlineAt) return 'expire';
  if (waitingSince === null) return 'resume';
  if (isReadOn) return 'wait';
  const waiting = now.getTime() - waitingSince.getTime();
  if (waiting >= EXECUTION_TIMEOUTS.abandoned) return 'abandon';
  return waiting >= EXECUTION_TIMEOUTS.newestPage && rowsReturned > pageStart ? 'fetch-next' : 'wait';
}
