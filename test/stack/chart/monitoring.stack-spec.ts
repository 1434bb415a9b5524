import { openStack, type ChartStack } from '../stack.js';
import { CONDITIONS, FAULTS, type Scenario } from './alert-scenarios.js';
import { FRESH_INSTALL, USUAL_DAY } from './healthy-scenarios.js';
import { HEALTHY, INTERVAL_SECONDS, LAST_HEALTHY, SAMPLES, START } from './healthy-series.js';
import { alertRules, failedTests, inputSeries, type Rule } from './alert-rules.js';

const stack: ChartStack = openStack(process.env);
const FAILURE_SECONDS = LAST_HEALTHY * INTERVAL_SECONDS;
const END_SECONDS = (SAMPLES - 1) * INTERVAL_SECONDS;
const SCENARIOS = [...FAULTS, ...CONDITIONS];

/** Each alert fires at its time and not before, and no other one ever does. */
function unitTest({ fault, series, fires }: Scenario): object {
  const firing = (alert: string, atSeconds: number, isFiring: boolean) => ({
    expr: `group(ALERTS{alertname="${alert}", alertstate="firing"})`,
    eval_time: `${atSeconds}s`,
    exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
  });
  return {
    name: fault,
    interval: `${INTERVAL_SECONDS}s`,
    start_timestamp: START,
    input_series: inputSeries(series),
    promql_expr_test: [
      ...Object.entries(fires).flatMap(([alert, seconds]) => [
        firing(alert, FAILURE_SECONDS + seconds - INTERVAL_SECONDS, false),
        firing(alert, FAILURE_SECONDS + seconds, true),
      ]),
      {
        expr: `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${END_SECONDS}s]))`,
        eval_time: `${END_SECONDS}s`,
        exp_samples: Object.keys(fires).map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  };
}

const onUsualDay = (scenario: Scenario): object =>
  unitTest({ ...scenario, series: { ...HEALTHY, ...scenario.series } });

describe('alerts', () => {
  let rules: Rule[];
  beforeAll(async () => (rules = await alertRules(stack)));
  const failuresOf = (tests: readonly object[]) => failedTests(stack, rules, `${INTERVAL_SECONDS}s`, tests);

  it('are rules that Prometheus can read', async () => {
    expect(await failuresOf([])).toBe('');
  });

  it('do not fire on a usual day, nor on a fresh install', async () => {
    expect(await failuresOf([onUsualDay(USUAL_DAY), unitTest(FRESH_INSTALL)])).toBe('');
  });

  it('fire after so many seconds where a part fails, and no other one does', async () => {
    expect(await failuresOf(SCENARIOS.map(onUsualDay))).toBe('');
  });

  it('say in which namespace, where to read on, and how much, as Prometheus writes it', async () => {
    const firing = SCENARIOS.flatMap((scenario) =>
      Object.entries(scenario.fires).map(([alertname, seconds]) => ({
        ...onUsualDay(scenario),
        promql_expr_test: [],
        alert_rule_test: [{ alertname, eval_time: `${FAILURE_SECONDS + seconds}s`, exp_alerts: [] }],
      })),
    );
    const written = (await failuresOf(firing)).matchAll(/Labels:\{alertname="(\w+)"(.*)\}\n\s+Annotations:\{(.*)\}/g);
    const seen = new Set<string>();
    for (const [, alert = '', labels, annotations = ''] of written) {
      seen.add(alert);
      expect(labels).toContain('namespace="portal"');
      expect(annotations).toContain(`runbook_url="docs/operations.md#${alert.toLowerCase()}"`);
      expect(annotations).toMatch(/\bdescription="[^"]*\d[^"]*", .*\bsummary="[^"]*(portal|https:)[^"]*"/);
      expect(annotations).not.toMatch(/error expanding|NaN|no value|\{\{/);
    }
    expect([...seen].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  it('carry further labels, another address of the guide, and need no kube-state-metrics', async () => {
    const [prefix, link] = ['monitoring.prometheusRule.', 'https://wiki.example.org/grantline'];
    const values = { 'alertLabels.team': 'data', runbookUrl: link, kubeStateMetrics: 'false' };
    const given = await alertRules(
      stack,

      ...Object.entries(values).flatMap(([key, value]) => ['--set', `${prefix}${key}=${value}`]),
    );
    const ofJobs = rules.filter(({ expr }) => expr.includes('kube_')).map(({ alert }) => alert);
    expect(given.map(({ alert }) => alert)).toEqual(
      rules.map(({ alert }) => alert).filter((name) => !ofJobs.includes(name)),
    );
    for (const { alert, labels, annotations } of given) {
      expect(labels).toMatchObject({ namespace: 'portal', team: 'data' });
      expect(annotations['runbook_url']).toBe(`${link}#${alert.toLowerCase()}`);
    }
  });

  it('need no counter of runs, which happen in Jobs where a CronJob publishes', () => {
    expect(rules.filter(({ expr }) => /grantline_acl_\w+_total/.test(expr)).map(({ alert }) => alert)).toEqual([]);
  });

  it('are all tested', () => {
    const tested = new Set(SCENARIOS.flatMap(({ fires }) => Object.keys(fires)));
    expect([...tested].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });
});
