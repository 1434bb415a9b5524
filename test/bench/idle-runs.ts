import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { migrate } from '../../src/platform/database/migrator.js';
import { timed } from '../stack/progress.js';
import { fill } from './filling.js';
import { snapshotOf, workloadName, type Workload } from './workload.js';

const IDLE_RUNS = 12;
/** Part of a full run's time that an idle one may take. */
const AT_MOST = 1 / 20;

/** `cpu`: seconds of the process itself, without the one that compiles. */
interface Run {
  outcome: string;
  seconds: number;
  cpu: number;
}

/** A run that publishes, against runs after it for which nothing has changed: the built service, a database, a file. */
export async function idleRuns(folder: string, workload: Workload): Promise<string> {
  const snapshot = snapshotOf(workload);
  const database = await joinEmbeddedPostgres(join(folder, `idle-${workload.size}`), () => undefined);
  try {
    await migrate(database.migrationUrl, database.url);
    await timed(`${workloadName(workload)}, written into a database`, () => fill(database.migrationUrl, snapshot));
    const { PATH = '', HOME = '' } = process.env;
    const { stdout } = await timed(`${workloadName(workload)}, a full run and ${IDLE_RUNS} idle ones`, () =>
      promisify(execFile)(process.execPath, [join(import.meta.dirname, 'idle-probe.js'), String(IDLE_RUNS)], {
        env: {
          PATH,
          HOME,
          NODE_ENV: 'test',
          DATABASE_URL: database.url,
          DATABASE_MIGRATION_URL: database.migrationUrl,
          ACL_FILE_DIRECTORY: join(folder, `idle-${workload.size}-acl`),
          ACL_WRITABLE_CATALOGS: snapshot.settings.writableCatalogs.join(','),
          ACL_METADATA_CATALOG: 'none',
        },
      }),
    );
    const [full, ...idle] = JSON.parse(stdout) as Run[];
    if (full?.outcome !== 'applied' || idle.some(({ outcome }) => outcome !== 'no_change')) throw new Error(stdout);
    const middle = idle.map(({ seconds }) => seconds).sort((a, b) => a - b)[idle.length >> 1] ?? Number.NaN;
    const cpu = idle.reduce((sum, each) => sum + each.cpu, 0);
    const ratio = middle / full.seconds;
    return (
      `${workloadName(workload)}: full run ${full.seconds.toFixed(1)} s, idle run ${(middle * 1000).toFixed(0)} ms, ` +
      `ratio ${ratio.toFixed(4)} (at most ${AT_MOST}: ${ratio <= AT_MOST ? 'met' : 'MISSED'}); ` +
      `the ${IDLE_RUNS} idle runs of an hour: ${cpu.toFixed(1)} s of processor time`
    );
  } finally {
    await database.release();
  }
}
