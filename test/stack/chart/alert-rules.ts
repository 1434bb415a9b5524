import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { stringify } from 'yaml';

import type { ChartStack } from '../stack.js';
import type { Series } from './healthy-series.js';
import { only } from './manifest.js';
import { render } from './rendering.js';

const run = promisify(execFile);

/** An alert of the chart's PrometheusRule. */
export interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** All alerts that there are. @param more arguments of Helm's */
export async function alertRules(stack: ChartStack, ...more: string[]): Promise<Rule[]> {
  const retiredRoute = ['--set', 'retiredRoute.enabled=true', '--set', 'retiredRoute.url=https://trino.example.org'];
  const { objects } = await render(stack, 'monitoring', { more: [...retiredRoute, ...more] });
  const rule = only(
    objects.filter(({ kind }) => kind === 'PrometheusRule'),
    'a PrometheusRule',
  );
  return (rule.spec as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
}

/** As Prometheus names them: with the labels that a target has, or those of kube-state-metrics, or of OPA beside the engine. */
export function inputSeries(series: Series): { series: string; values: string }[] {
  return Object.entries(series).map(([key, values]) => {
    const [name = '', labels = ''] = key.replace(/\}$/, '').split('{');
    const own = targetOf(name);
    return { series: `${name}{${own}${labels === '' ? '' : `, ${labels}`}}`, values };
  });
}

function targetOf(metric: string): string {
  if (metric.startsWith('last_success_bundle_')) return 'namespace="engine", job="trino-opa"';
  return `namespace="portal", job="${metric.startsWith('kube_') ? 'kube-state-metrics' : 'grantline-operations'}"`;
}

/** What `promtool test rules` says of these tests; empty: all pass. @param interval between two evaluations */
export async function failedTests(
  { parts, folder }: Pick<ChartStack, 'parts' | 'folder'>,
  rules: readonly Rule[],
  interval: string,
  tests: readonly object[],
): Promise<string> {
  const own = await mkdtemp(join(folder, 'promtool-'));
  const [alerts, test] = [join(own, 'alerts.yaml'), join(own, 'test.yaml')];
  await writeFile(alerts, stringify({ groups: [{ name: 'grantline', rules }] }));
  await writeFile(test, stringify({ rule_files: [alerts], evaluation_interval: interval, tests }));
  try {
    await run(join(parts.chartTools, 'promtool'), ['test', 'rules', test], { maxBuffer: 2 ** 26 });
    return '';
  } catch (failure) {
    const { stdout, stderr } = failure as { stdout: string; stderr: string };
    return stdout + stderr;
  }
}
