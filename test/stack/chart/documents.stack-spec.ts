import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { openStack, type ChartStack } from '../stack.js';
import { chartReadme } from './readme.js';
import { CHART } from './rendering.js';

const { parts }: ChartStack = openStack(process.env);

describe("the chart's README", () => {
  it('is what helm-docs makes of the values; npm run docs:chart', async () => {
    expect(await readFile(join(CHART, 'README.md'), 'utf8')).toBe(await chartReadme(parts.chartTools));
  });

  it('describes every value', async () => {
    const rows = (await chartReadme(parts.chartTools)).split('\n').filter((line) => /^\| [a-z]\S* \| /.test(line));
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter((row) => / \|\s*\|$/.test(row))).toEqual([]);
  });
});
