import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { CHART } from './rendering.js';

const run = promisify(execFile);

/** @returns the README that helm-docs makes of README.md.gotmpl and the comments in values.yaml */
export async function chartReadme(chartTools: string): Promise<string> {
  const args = [`--chart-search-root=${CHART}`, '--dry-run', '--skip-version-footer', '--sort-values-order=file'];
  const { stdout } = await run(join(chartTools, 'helm-docs'), args);
  return `${stdout.trim()}\n`;
}

export async function writeChartReadme(chartTools: string): Promise<void> {
  await writeFile(join(CHART, 'README.md'), await chartReadme(chartTools));
}
