import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { joinEmbeddedPostgres } from '../../src/platform/infrastructure/embedded-postgres.js';
import { say, told } from '../stack/progress.js';
import { measureHeap } from './auth-heap.js';
import { measureLogins, measureStorm } from './auth-logins.js';
import { measureMe } from './auth-me.js';
import { measureRefreshes } from './auth-refreshes.js';
import { AuthUnderTest } from './auth-under-test.js';
import type { Ratio } from './ratio.js';
import { ratioTable } from './ratio.js';
import { joinSchedulingGroup } from './scheduling-group.js';

/**
 * npm run bench:auth [-- me logins storm refreshes heap] [-- --requests 100000]: what accounts cost, as ratios measured in one
 * run. Both sides of a ratio take turns, so that whatever else runs on the machine meets both. Figures and what limits them:
 * docs/benchmarks.md.
 */
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: 'string', default: '1000000' } },
});
const PARTS: Record<string, (auth: AuthUnderTest) => Promise<Ratio[]>> = {
  me: measureMe,
  logins: measureLogins,
  storm: measureStorm,
  refreshes: measureRefreshes,
  heap: (auth) => measureHeap(auth, Number(values.requests)),
};

const leaveGroup = joinSchedulingGroup();
if (leaveGroup === null) say('not in a scheduling group of its own: under autogroup, the storm measures the desktop');
const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
const postgres = await joinEmbeddedPostgres(folder, say);
try {
  const auth = await AuthUnderTest.start(postgres);
  const ratios: Ratio[] = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    if (asked.length === 0 || asked.includes(name)) ratios.push(...(await told(name, () => measure(auth))));
  }
  await auth.stop();
  console.log(ratioTable(ratios));
} finally {
  await postgres.release();
  rmSync(folder, { recursive: true, force: true });
  leaveGroup?.();
}
