import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { stringify } from 'yaml';

import { openStack, type ChartStack } from '../stack.js';
import { only } from './manifest.js';
import { render } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const run = promisify(execFile);
const promtool = (...args: string[]) => run(join(stack.parts.chartTools, 'promtool'), args);
const TESTS = join(import.meta.dirname, 'alerts.test.yaml');

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string; description: string } }[] }[];
}

async function renderedRules(): Promise<Rules> {
  const { objects } = await render(stack, 'monitoring');
  return only(
    objects.filter(({ kind }) => kind === 'PrometheusRule'),
    'a PrometheusRule',
  ).spec as Rules;
}

describe('alerts', () => {
  const file = join(stack.folder, 'alerts.yaml');
  beforeAll(async () => writeFile(file, stringify(await renderedRules())));

  it('are rules that Prometheus can read', async () => {
    expect((await promtool('check', 'rules', file)).stdout).toContain('SUCCESS');
  });

  it('fire when they should, and only then', async () => {
    const test = join(stack.folder, 'alerts.test.yaml');
    await writeFile(test, await readFile(TESTS, 'utf8'));
    const { stdout, stderr } = await promtool('test', 'rules', test);
    expect(stdout + stderr).toContain('SUCCESS');
  });

  it('are all tested, and describe what to do', async () => {
    const tests = await readFile(TESTS, 'utf8');
    for (const { alert, annotations } of (await renderedRules()).groups.flatMap(({ rules }) => rules)) {
      expect(tests).toContain(`alertname: ${alert}\n`);
      expect(annotations.summary).not.toBe('');
      expect(annotations.description).not.toBe('');
    }
  });
});
