import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { TcpProxy } from '../support/service/tcp-proxy.js';
import { alertRules, failedTests, inputSeries } from './chart/alert-rules.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { SCRAPE_SECONDS, Scraper } from './running/scraper.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
/** How long each part stays away after the metrics have shown it. In a short run promtool sees the last sample held. */
const STAY_SECONDS = Number(process.env['GRANTLINE_OUTAGE_SECONDS'] ?? 0);
/** No kube-state-metrics runs here. */
const WITHOUT_JOBS = ['--set', 'monitoring.prometheusRule.kubeStateMetrics=false'];
const HELD_SECONDS = STAY_SECONDS > 0 ? 0 : 900;
/** The target is checked every minute and given 20 s; the engine is asked every minute; a token lives five minutes. */
const TURNED_WITHIN = 400_000;

type Part = 'database' | 'engine' | 'provider' | 'API server';

/** What shows that a part is away, and the alert that must fire by it. */
const SHOWN: Record<Part, [series: string, value: number, alert: string]> = {
  database: ['grantline_ready', 0, 'GrantlineNotReady'],
  engine: ['grantline_degraded{part="engine"}', 1, 'GrantlineEngineIdentity'],
  provider: ['grantline_degraded{part="identity_provider"}', 1, 'GrantlineDegraded'],
  'API server': ['grantline_degraded{part="target"}', 1, 'GrantlineDegraded'],
};

describe('a part that is really taken away', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'outages-')));
  const gateways = {} as Record<Part, TcpProxy>;
  let deployment: Deployment;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    gateways.engine = await TcpProxy.to(stack.engines.insecure);
    gateways.provider = await TcpProxy.to(stack.issuer);
    gateways['API server'] = await TcpProxy.to(stack.cluster.url);
    // The provider puts the address that it was asked at into its tokens.
    const around = {
      ...stack,
      issuer: gateways.provider.url,
      engines: { ...stack.engines, insecure: gateways.engine.url },
      ...(STAY_SECONDS === 0 && { realm: { ...stack.realm, grantline: stack.realm.twentySeconds } }),
    };
    const grantline = await startGrantline(processes, around, {
      name: 'outages',
      mode: 'insecure',
      family: 'X-Query',
      runs: 'by-schedule',
      environment: async ({ DATABASE_URL_FILE: _, ...given }, { url }) => {
        gateways.database = await TcpProxy.to(url);
        const { hostname, port } = new URL(gateways['API server'].url);
        const api = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
        return { ...given, ...api, DATABASE_URL: gateways.database.url };
      },
    });
    deployment = new Deployment(stack, grantline, 'insecure', 'X-Query');
    await deployment.makeAdministrator();
    expect((await deployment.administrator.post('/api/admin/acl/sync')).status).toBe(200);
  });
  afterAll(async () => {
    await processes.stopAll();
    await Promise.all(Object.values(gateways).map((gateway) => gateway.down()));
  });

  /** Some requests each second, as on a usual day. */
  async function traffic(signal: AbortSignal): Promise<void> {
    const { administrator } = deployment;
    for (let at = 0; !signal.aborted; at++) {
      await administrator.get('/api/auth/me').catch(() => undefined);
      if (at % 5 === 0) await administrator.post('/api/queries', { sql: 'SELECT 1' }).catch(() => undefined);
      await pause(1000, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Seconds from the failure until the metric turned, and until each alert fired. */
  async function takenAway(part: Part): Promise<{ turned: number; fired: Record<string, number> }> {
    const [series, value] = SHOWN[part];
    const scraper = new Scraper(deployment.grantline.operations);
    const over = new AbortController();
    const users = traffic(over.signal);
    let began: number;
    let turned: number;
    try {
      const isTurned = () => Promise.resolve(scraper.latest(series) === value ? true : undefined);
      await until('two samples are taken', 60_000, () =>
        Promise.resolve(scraper.seconds > 2 * SCRAPE_SECONDS || undefined),
      );
      expect(scraper.latest(series)).toBe(1 - value);

      await gateways[part].down();
      began = scraper.seconds;
      await until(`${series} is ${value}`, TURNED_WITHIN, isTurned);
      turned = scraper.seconds - began;
      await pause(STAY_SECONDS * 1000);
      expect(scraper.latest(series)).toBe(value);
    } finally {
      await scraper.stop();
      await gateways[part].up();
      over.abort();
      await users;
    }

    const fired = await firingTimes(scraper, began);
    await until('the service is well', 120_000, async () => {
      const { status } = await deployment.administrator.post('/api/admin/acl/sync');
      const answer = await fetch(`${deployment.grantline.operations}/health/ready`);
      const { status: health } = (await answer.json()) as { status: string };
      return status === 200 && health === 'up' ? true : undefined;
    });
    return { turned, fired };
  }

  /** By the chart's rules on the scraped series, evaluated as often as they were scraped. */
  async function firingTimes(scraper: Scraper, began: number): Promise<Record<string, number>> {
    const interval = `${SCRAPE_SECONDS}s`;
    const begin = scraper.startedAt.toISOString();
    const end = Math.floor(scraper.seconds) + HELD_SECONDS;
    const firing = `timestamp(ALERTS{alertstate="firing"})[${end}s:${interval}]`;
    const test = {
      interval,
      start_timestamp: begin,
      input_series: inputSeries(scraper.series(HELD_SECONDS)),
      promql_expr_test: [
        {
          expr: `min by (alertname) (min_over_time(${firing})) - ${scraper.startedAt.getTime() / 1000 + began}`,
          eval_time: `${end}s`,
          exp_samples: [],
        },
      ],
    };
    const answer = await failedTests(stack, await alertRules(stack, ...WITHOUT_JOBS), interval, [test]);
    return Object.fromEntries(
      Array.from(answer.matchAll(/alertname=\\?"(\w+)\\?"\} ([-\d.E+]+)/g), ([, alert = '', seconds]) => [
        alert,
        Math.round(Number(seconds)),
      ]),
    );
  }

  it.each(Object.keys(SHOWN) as Part[])(
    'the %s: the metrics show it, and the alert fires',
    async (part) => {
      const { turned, fired } = await takenAway(part);
      console.log(`${part}: shown after ${turned.toFixed(0)} s; alerts after ${JSON.stringify(fired)} s`);
      expect(Object.keys(fired)).toContain(SHOWN[part][2]);
    },
    TURNED_WITHIN + STAY_SECONDS * 1000 + 180_000,
  );
});
