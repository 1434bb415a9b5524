import type { Random } from '../../../src/kernel/ids.js';

/** In the middle, always. */
export const FIXED_RANDOM: Random = { fraction: () => 0.5 };
