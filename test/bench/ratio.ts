import { textTable } from './text-table.js';

/** One line of a benchmark: two things measured in turns, and what their ratio was to be. */
export interface Ratio {
  what: string;
  ratio: number;
  /** Null: for comparison only. */
  target: { atLeast: number } | { atMost: number } | null;
  /** The two figures, with their unit. */
  figures: string;
}

export function ratioTable(ratios: readonly Ratio[]): string {
  return textTable([
    ['ratio', 'target', '', 'of', 'figures'],
    ...ratios.map(({ what, ratio, target, figures }) => [ratio.toFixed(2), ...judged(ratio, target), what, figures]),
  ]);
}

function judged(ratio: number, target: Ratio['target']): [string, string] {
  if (target === null) return ['', ''];
  if ('atLeast' in target) return [`at least ${target.atLeast}`, ratio >= target.atLeast ? 'met' : 'MISSED'];
  return [`at most ${target.atMost}`, ratio <= target.atMost ? 'met' : 'MISSED'];
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median of the ratios turn by turn: what disturbs one turn is outvoted by the others. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, turn) => value / (theirs[turn] ?? NaN)));
}
