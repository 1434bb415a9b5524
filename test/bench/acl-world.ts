import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { SIZES, scaled, skewedWorld } from '../support/skewed-world.js';

/** A generated world of the measurements, in words that fit a command line. */
export interface World {
  size: keyof typeof SIZES;
  factor: number;
  names: 'numbered' | 'real-like';
}

/** What makes rules out of a world; `floor` only counts what none of them can go below. */
export type Way = 'ours' | 'names in full' | 'person by person' | 'floor';

export function snapshotOf({ size, factor, names }: World): Snapshot {
  return skewedWorld(scaled(SIZES[size], factor), names);
}

/** `enterprise × 0.3, real-like` */
export function worldName({ size, factor, names }: World): string {
  return `${factor === 1 ? size : `${size} × ${factor}`}, ${names}`;
}
