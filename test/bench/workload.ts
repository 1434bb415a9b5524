import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { SIZES, scaled, skewedSnapshot } from '../support/snapshots/skewed-snapshot.js';

/** A generated snapshot of the measurements, in words that fit a command line. */
export interface Workload {
  size: keyof typeof SIZES;
  factor: number;
  names: 'numbered' | 'real-like';
}

/** Compilers to compare; `lower bound` counts only what no rules can be smaller than. */
export type Variant = 'ours' | 'names in full' | 'person by person' | 'lower bound';

export function snapshotOf({ size, factor, names }: Workload): Snapshot {
  return skewedSnapshot(scaled(SIZES[size], factor), names);
}

/** `enterprise × 0.3, real-like` */
export function workloadName({ size, factor, names }: Workload): string {
  return `${factor === 1 ? size : `${size} × ${factor}`}, ${names}`;
}
