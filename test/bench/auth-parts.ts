import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { report, withProgress } from '../stack/progress.js';
import { AuthUnderTest } from './auth-under-test.js';
import { type Ratio, ratioTable } from './ratio.js';
import { joinSchedulingGroup } from './scheduling-group.js';

export type Parts = Record<string, (auth: AuthUnderTest) => Promise<Ratio[]>>;

/** Measures the parts that are asked for, or all, on a PostgreSQL and in a scheduling group of their own, and prints the ratios. */
export async function measureParts(parts: Parts, asked: readonly string[]): Promise<void> {
  const leaveGroup = joinSchedulingGroup();
  if (leaveGroup === null)
    report('not in a scheduling group of its own: under autogroup, a storm measures the desktop');
  const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
  const postgres = await joinEmbeddedPostgres(folder, report);
  try {
    const auth = await AuthUnderTest.start(postgres);
    try {
      for (const [name, measure] of Object.entries(parts)) {
        if (asked.length > 0 && !asked.includes(name)) continue;
        console.log(ratioTable(await withProgress(name, () => measure(auth))));
      }
    } finally {
      await auth.stop();
    }
  } finally {
    await postgres.release();
    rmSync(folder, { recursive: true, force: true });
    leaveGroup?.();
  }
}
