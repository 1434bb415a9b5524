import { cursorOfNames, keyOfCursor, namesOfCursor } from '../../kernel/page.js';
import type { PastRun, PublicationSummary } from './publication.js';

/** A place among versions and runs: a version has the run 0, and the runs after it follow it. */
export interface HistoryPosition {
  version: number;
  run: number;
}

/** `after`: the last of the page before. */
export interface HistoryPage {
  limit: number;
  after: HistoryPosition | null;
}

export function positionOf(entry: PublicationSummary | PastRun): HistoryPosition {
  return 'version' in entry ? { version: entry.version, run: 0 } : { version: entry.afterVersion, run: entry.id };
}

/** Newest first. */
export function compareHistory(a: PublicationSummary | PastRun, b: PublicationSummary | PastRun): number {
  const [one, other] = [positionOf(a), positionOf(b)];
  return other.version - one.version || other.run - one.run;
}

export function cursorAfter(entry: PublicationSummary | PastRun): string {
  const { version, run } = positionOf(entry);
  return cursorOfNames([String(version), String(run)]);
}

/** Also of a list of versions alone. Null: not one of our cursors. */
export function positionOfCursor(cursor: string): HistoryPosition | null {
  const key = keyOfCursor(cursor);
  const [version = NaN, run = NaN, ...rest] = key === null ? (namesOfCursor(cursor)?.map(numberOf) ?? []) : [key, 0];
  const isPlace = version < 2 ** 31 && Number.isSafeInteger(run) && rest.length === 0;
  return isPlace ? { version, run } : null;
}

function numberOf(digits: string): number {
  return /^[0-9]{1,15}$/.test(digits) ? Number(digits) : NaN;
}
