import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** In the environment: the folder of a virtual environment with scim2-cli. */
export const SCIM_TESTER = 'GRANTLINE_SCIM_TESTER';

/** A check, and what became of it: `SUCCESS`, `SKIPPED`, `ERROR` and others. */
export interface Check {
  status: string;
  title: string;
}

const LINE = /^(SUCCESS|COMPLIANT|ACCEPTABLE|DEVIATION|ERROR|CRITICAL|SKIPPED) +(.+)$/gm;

/**
 * Lets scim2-tester make, read, change and delete what the schemas of a server describe.
 * @returns its checks, and all that it printed
 */
export async function scimChecks(url: string, token: string, folder: string) {
  const home = process.env[SCIM_TESTER];
  if (home === undefined) throw new Error(`${SCIM_TESTER} is not set: run this through npm run test:scim`);
  const child = spawn(
    join(home, 'bin', 'python'),
    // Not by its script, which names the folder in which it was installed.
    ['-c', 'from scim2_cli import cli; cli()', '--url', `${url}/api/scim/v2`, 'test'],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        PYTHONDONTWRITEBYTECODE: '1',
        // The command line is visible to others.
        SCIM_CLI_HEADERS: `Authorization: Bearer ${token}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let report = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (text: Buffer) => (report += text.toString()));
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      resolve();
    });
  });
  const checks = [...report.matchAll(LINE)].map(([, status = '', title = '']): Check => ({ status, title }));
  return { checks, report };
}
