/**
 * What reading from a connection has cost since its last request that was let in, in milliseconds of the event loop's time: a
 * twentieth of the time that passes is forgotten, all of it within three seconds.
 */
export interface ReadingDebt {
  /** As of `at`: it shrinks since. */
  milliseconds: number;
  at: number;
}

/** Of whoever has shown who they are: what they ask for is counted elsewhere (docs/decisions/0029). */
export const NO_DEBT: ReadingDebt = { milliseconds: 0, at: 0 };

const FORGOTTEN = 0.05;

/** Where a class of connections ends, in milliseconds of debt. */
const CLASSES = [1, 4, 16, 64, Infinity];

/** In milliseconds: whoever owes that waits some seconds at most, and not until nobody owes less. */
const MOST = 128;

/** How many classes there are; from `DEBTORS` on, connections are read for a part of the time only. */
export const TURN_CLASSES = CLASSES.length;
export const DEBTORS = 1;

/** Of the time, for all debtors together: what an answer causes elsewhere, and its collection as garbage, comes on top. */
const SHARE = 0.25;

/** Milliseconds for which debtors rest after they were read for so many. */
export function restAfter(milliseconds: number): number {
  return Math.ceil(milliseconds * (1 / SHARE - 1));
}

/** Of a connection that nobody has been let in by: for ten milliseconds one that is known comes first. */
export function newDebt(now: number): ReadingDebt {
  return { milliseconds: 1.5, at: now };
}

/** After reading that took so many milliseconds. */
export function afterReading(debt: ReadingDebt, milliseconds: number, now: number): ReadingDebt {
  return { milliseconds: Math.min(debtAt(debt, now) + milliseconds, MOST), at: now };
}

/** Lower classes are read before higher ones; within a class it is first come, first served. */
export function turnClass(debt: ReadingDebt, now: number): number {
  const milliseconds = debtAt(debt, now);
  return CLASSES.findIndex((end) => milliseconds < end);
}

function debtAt({ milliseconds, at }: ReadingDebt, now: number): number {
  return Math.max(0, milliseconds - (now - at) * FORGOTTEN);
}
