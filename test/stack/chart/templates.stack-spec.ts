import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { ChartStack } from '../stack.js';
import { openStack } from '../stack.js';
import { asYaml, differences } from './differences.js';
import { environmentOf, only, podsIn, type Manifest } from './manifest.js';
import { CHART, HELM_3, HELM_4, HELMS, RELEASE, render, VALUE_SETS, valuesFile } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const run = promisify(execFile);
const RULES_FOLLOW_FROM = /^(ACL_(?!SYNC)|SERVICE_QUERY_(USER|JWT_ENABLED|JWT_CLIENT_ID|IMPERSONATION_ENABLED)$)/;
/** Stored as a whole; all others as what tells them from it. */
const STORED_WHOLE = 'default';

/** Text stands in the stored renderings as it is. */
expect.addSnapshotSerializer({ test: (value) => typeof value === 'string', serialize: (text: string) => text });

/** Files that the chart renders as they are stand by their names. */
const FILES = readdirSync(join(CHART, 'files')).map((name) => ({
  name: `<files/${name}>`,
  text: readFileSync(join(CHART, 'files', name), 'utf8'),
}));

/** The chart's version, which every release changes, stands as this one. */
const VERSION = /^version: (.*)$/m.exec(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))?.[1] ?? '';
const STORED_VERSION = '0.1.0';

/** What nearly every object has as labels, or selects by, stands as one entry: the name by which it is known. */
const NAME = 'app.kubernetes.io/name';
const SELECTOR = { 'app.kubernetes.io/instance': RELEASE };
const LABELS = {
  ...SELECTOR,
  'app.kubernetes.io/managed-by': 'Helm',
  'app.kubernetes.io/part-of': 'grantline',
  'helm.sh/chart': `grantline-${STORED_VERSION}`,
};

const withoutUsual = (labels: Record<string, unknown>): object => {
  const { [NAME]: name, ...others } = labels;
  if (name === undefined) return labels;
  for (const [entry, usual] of Object.entries({ '<labels>': LABELS, '<selector>': SELECTOR })) {
    if (!Object.entries(usual).every(([key, value]) => others[key] === value)) continue;
    return { [entry]: name, ...Object.fromEntries(Object.entries(others).filter(([key]) => !(key in usual))) };
  }
  return labels;
};

const stored = (value: unknown): unknown => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return withoutUsual({ ...value });
  if (typeof value !== 'string') return value;
  const ofThisVersion = new RegExp(`\\b${VERSION.replaceAll('.', '\\.')}(?![-.\\d])`, 'g');
  return FILES.find(({ text }) => text === value)?.name ?? value.replace(ofThisVersion, STORED_VERSION);
};

const asStored = (objects: readonly Manifest[]): object[] =>
  JSON.parse(JSON.stringify(objects), (_, value: unknown) => stored(value)) as object[];

describe.each(HELMS)('%s', (helm) => {
  it('finds nothing to complain of, neither in the defaults nor in any value set', async () => {
    const values = ['', ...VALUE_SETS.map(valuesFile)].map((file) => (file === '' ? [] : ['--values', file]));
    for (const arguments_ of values) {
      const { stdout } = await run(join(stack.parts.clusterTools, helm), ['lint', '--strict', CHART, ...arguments_]);
      expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    }
  });
});

describe.each(VALUE_SETS)('the value set %s', (set) => {
  it('renders what is stored, the same with Helm 3 and Helm 4', async () => {
    const { objects } = await render(stack, set, { helm: HELM_4 });
    expect((await render(stack, set, { helm: HELM_3 })).objects).toEqual(objects);
    const rendered =
      set === STORED_WHOLE
        ? asStored(objects).map(asYaml).join('\n---\n')
        : differences(asStored(await comparable(set, objects)), asStored(objects), formerName(objects));
    expect(rendered).toMatchSnapshot();
  });

  // Helm 3 removes all published rules when a later revision drops `data`, even an empty one; see access-control-configmap.yaml.
  it('renders the access-control ConfigMap without data, to be kept', async () => {
    const { objects } = await render(stack, set);
    const rules = only(
      objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.annotations?.['helm.sh/resource-policy']),
      'a ConfigMap that is kept',
    );
    expect(Object.keys(rules).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    expect(Object.keys(rules.metadata).sort()).toEqual(['annotations', 'labels', 'name', 'namespace']);
    expect(rules.metadata.annotations).toMatchObject({
      'helm.sh/resource-policy': 'keep',
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
    });
    const { name, namespace } = rules.metadata;
    const named = objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
    expect(named).toHaveLength(1);
    const service = environmentOf(
      only(
        podsIn(objects).filter(({ component }) => component === 'api'),
        'the service',
      ),
    );
    const { ACL_TARGET: target, ACL_CONFIGMAP_NAMESPACE: common, ACL_CONFIGMAP_NAME: names = '' } = service;
    if (target === 'opa') expect([common, names]).toEqual([undefined, '']);
    else expect(common === undefined ? names.split(',')[0] : `${common}/${names}`).toBe(`${namespace}/${name}`);
  });

  it('has exactly one that publishes by the schedule, and a CronJob for runs by hand', async () => {
    const { objects } = await render(stack, set);
    const pods = podsIn(objects);
    const service = environmentOf(
      only(
        pods.filter(({ component }) => component === 'api'),
        'the service',
      ),
    );
    const run = environmentOf(
      only(
        pods.filter(({ component }) => component === 'acl-sync'),
        'the run by hand',
      ),
    );
    const isSyncCronJob = (name: string) => name.endsWith('-acl-sync');
    const cronJob = only(
      objects.filter(({ kind, metadata }) => kind === 'CronJob' && isSyncCronJob(metadata.name)),
      set,
    );
    const { suspend } = cronJob.spec as { suspend: boolean };
    expect(service['ACL_SYNC_ENABLED']).toBe(String(suspend));
    expect(run['ACL_SYNC_ENABLED']).toBe('false');
    // Whatever the rules follow from is the same for both, or each run would undo the other's.
    const rulesOf = (environment: Record<string, string>) =>
      Object.entries(environment).filter(([name]) => RULES_FOLLOW_FROM.test(name));
    expect(rulesOf(run)).toEqual(rulesOf(service));
  });

  it('gives a token of the API server and secrets to those alone that need them', async () => {
    const { objects } = await render(stack, set);
    for (const { component, spec } of podsIn(objects)) {
      const own = (spec.volumes ?? []).filter(
        ({ secret, projected }) => secret !== undefined || projected !== undefined,
      );
      expect({ component, projected: own.some(({ projected }) => projected !== undefined) }).toEqual({
        component,
        projected: ['api', 'acl-sync'].includes(component),
      });
      const files = own.flatMap(({ secret }) => secret?.items.map(({ path }) => path) ?? []).sort();
      const given = environmentOf({ metadata: { labels: {} }, spec });
      const client = given['SERVICE_QUERY_JWT_ENABLED'] === 'true' ? ['client-secret'] : [];
      const opa = given['ACL_TARGET']?.includes('opa') === true ? ['opa-signing-key', 'opa-token'] : [];
      expect({ component, files }).toEqual({ component, files: expectedFiles(component, client, opa) });
    }
  });

  it('leads from outside to the API of Grantline alone', async () => {
    const { objects, text } = await render(stack, set);
    const api = only(
      objects.filter((o) => o.kind === 'Service' && !o.metadata.name.endsWith('-operations')),
      'a Service',
    );
    const { type, ports, selector } = api.spec as { type: string; ports: unknown[]; selector: Record<string, string> };
    expect({ type, ports, component: selector['app.kubernetes.io/component'] }).toEqual({
      type: 'ClusterIP',
      ports: [{ name: 'http', port: 80, targetPort: 3000, appProtocol: 'http' }],
      component: 'api',
    });
    for (const { kind, spec } of objects.filter(({ kind }) => ['Ingress', 'HTTPRoute'].includes(kind))) {
      const backends = JSON.stringify(spec).match(/"(service|backendRefs)":[^}]*"name":"([^"]+)"/g) ?? [];
      expect({ kind, backends: backends.length > 0 }).toEqual({ kind, backends: true });
      for (const backend of backends) expect(backend).toContain(`"name":"${api.metadata.name}"`);
    }
    expect(text).not.toMatch(
      /type: (NodePort|LoadBalancer|ExternalName)|externalName|externalIPs|hostPort|hostNetwork/,
    );
  });
});

it.each([
  ['monitoring', 'Service'],
  ['pod-monitor', 'PodMonitor'],
])('the alerts of the value set %s select the job that its %s gives to the metrics', async (set, kind) => {
  const more = ['--set=monitoring.prometheusRule.enabled=true', '--set=monitoring.dashboard.enabled=true'];
  const { objects } = await render(stack, set, { more });
  const of = (wanted: string) => objects.filter((object) => object.kind === wanted);
  const jobs = kind === 'Service' ? of(kind).map(({ metadata }) => metadata.name) : [relabelled(only(of(kind), kind))];
  const selected = new Set(
    [...JSON.stringify(of('PrometheusRule')).matchAll(/job='([^']+-operations)'/g)].map(([, job]) => job),
  );
  expect(jobs).toEqual(expect.arrayContaining([...selected]));
  expect(selected.size).toBe(1);
});

/** An object of a value set has the name of the default's, behind the one of the service. */
function formerName(objects: readonly Manifest[]): (name: string) => string {
  const deployments = objects.filter(({ kind }) => kind === 'Deployment');
  const own = only(deployments, 'the service').metadata.name;
  return (name) => name.replace(own, RELEASE);
}

/** The objects of the default; for the set with every switch also those of the sets with one each, so that each is stored whole once. */
async function comparable(set: string, objects: readonly Manifest[]): Promise<Manifest[]> {
  const { objects: base } = await render(stack, STORED_WHOLE);
  if (set !== 'everything') return base;
  const others = await Promise.all(VALUE_SETS.filter((other) => other !== set).map((other) => render(stack, other)));
  const former = formerName(objects);
  const idOf = ({ kind, metadata }: Manifest, name = metadata.name) => `${kind} ${name}`;
  let place = 0;
  for (const object of objects) {
    const id = idOf(object, former(object.metadata.name));
    const at = base.findIndex((each) => idOf(each) === id);
    const known = others.flatMap((other) => other.objects).find((each) => idOf(each) === id);
    if (at < 0 && known !== undefined) base.splice(place, 0, known);
    if (at >= 0 || known !== undefined) place = at < 0 ? place + 1 : at + 1;
  }
  return base;
}

function relabelled({ spec }: Manifest): string {
  const { podMetricsEndpoints } = spec as { podMetricsEndpoints: { relabelings: { replacement: string }[] }[] };
  return podMetricsEndpoints[0]?.relabelings[0]?.replacement ?? '';
}

function expectedFiles(component: string, client: readonly string[], opa: readonly string[]): string[] {
  switch (component) {
    case 'api':
      return ['auth-secret-key', ...client, 'database-url', ...opa];
    case 'acl-sync':
      return ['database-url'];
    case 'migration':
      return ['database-migration-url', 'database-url'];
    default:
      return [];
  }
}
