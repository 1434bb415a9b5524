import { parseArgs } from 'node:util';
import { measureHeap } from './auth-heap.js';
import { measureLogins, measureStorm } from './auth-logins.js';
import { measureMe } from './auth-me.js';
import { measureMemory } from './auth-memory.js';
import { measureParts, type Parts } from './auth-parts.js';
import { measureRefreshes } from './auth-refreshes.js';

/**
 * npm run bench:auth [-- me logins storm refreshes memory heap] [-- --requests 100000]: what accounts cost, as ratios measured in one
 * run. Both sides of a ratio take turns, so that whatever else runs on the machine meets both. Figures and what limits them:
 * docs/benchmarks.md.
 */
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: 'string', default: '1000000' } },
});
const PARTS: Parts = {
  me: measureMe,
  logins: measureLogins,
  storm: measureStorm,
  refreshes: measureRefreshes,
  memory: measureMemory,
  heap: (auth) => measureHeap(auth, Number(values.requests)),
};

await measureParts(PARTS, asked);
