import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { joinEmbeddedPostgres } from '../../src/platform/infrastructure/embedded-postgres.js';
import { say, told } from '../stack/progress.js';
import { measureAttack } from './attack-http.js';
import { measureSignInFlood } from './attack-sign-in.js';
import { AuthUnderTest } from './auth-under-test.js';
import { type Ratio, ratioTable } from './ratio.js';
import { joinSchedulingGroup } from './scheduling-group.js';

/** npm run bench:attack [-- bodies assets sign-in]: what an attack costs others, as ratios of the same figure at rest (docs/benchmarks.md). */
const { positionals: asked } = parseArgs({ allowPositionals: true });
const PARTS: Record<string, (auth: AuthUnderTest) => Promise<Ratio[]>> = {
  bodies: (auth) => measureAttack(auth, 'bodies of 1 MiB from nobody'),
  assets: (auth) => measureAttack(auth, 'assets asked for and never read'),
  'sign-in': measureSignInFlood,
};

const leaveGroup = joinSchedulingGroup();
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
