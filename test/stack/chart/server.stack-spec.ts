import { shareOf } from '../../support/landing.js';
import { openStack, type ChartStack } from '../stack.js';
import { apply, defineForeignKinds, dryRun, namespace, serviceAccount } from './cluster-objects.js';
import { only, podsIn, type Manifest, type RenderedPod } from './manifest.js';
import { RELEASE_NAMESPACE, render, VALUE_SETS } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const RESTRICTED = 'chart-restricted';
/** See the value set `part-of-another-chart`. */
const OF_ANOTHER_CHART = 'identity';

beforeAll(async () => {
  await defineForeignKinds(stack);
  const enforced = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const bases = ['grantline', 'data-portal'];
  const names = ['default', ...bases.flatMap((name) => [name, `${name}-migration`])];
  const places = [RESTRICTED, RELEASE_NAMESPACE, OF_ANOTHER_CHART];
  const accounts = places.flatMap((in_) => names.map((name) => serviceAccount(name, in_)));
  await apply(stack, [namespace(RESTRICTED, enforced), namespace(OF_ANOTHER_CHART), ...accounts]);
});

describe.each(shareOf(VALUE_SETS))('the API server and the value set %s', (set) => {
  it('would take every object, and warns of nothing', async () => {
    const objects = (await render(stack, set)).objects.map((object) => withTargetOf(object, set));
    const { stdout, stderr } = await dryRun(stack, objects);
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toHaveLength(objects.length);
  });

  it('would run every pod where only restricted ones may run', async () => {
    const pods = podsIn((await render(stack, set)).objects);
    const { stdout, stderr } = await dryRun(stack, pods.map(asPod));
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toHaveLength(pods.length);
  });
});

/** Each value set has a target of its own: that of a release that another spec has installed cannot be changed. */
function withTargetOf(object: Manifest, set: string): Manifest {
  const { name } = object.metadata;
  return name.endsWith('-access-control-target')
    ? { ...object, metadata: { ...object.metadata, name: `${name}-${set}` } }
    : object;
}

describe.each<[string, string]>([
  ['team.data.grantline', 'portal'],
  ['a'.repeat(53), 'chart-names'],
  ['123-data', '4711'],
  ['grantline', 'n'.repeat(63)],
])('the API server and the release %s in the namespace %s', (release, inNamespace) => {
  it('would take every object of the largest value set', async () => {
    const accounts = ['default', 'data-portal', 'data-portal-migration'];
    await apply(stack, [namespace(inNamespace), namespace('42')]);
    await apply(
      stack,
      accounts.map((name) => serviceAccount(name, inNamespace)),
    );
    const named = /^[a-z]/.test(release) ? '--set=fullnameOverride=' : '--set=fullnameOverride=data-portal';
    const more = [`--namespace=${inNamespace}`, '--set-string=accessControl.configMap.namespace=42', named];
    const { objects } = await render(stack, 'everything', { release, more });
    const { stdout, stderr } = await dryRun(
      stack,
      objects.filter(({ kind }) => kind !== 'Pod'),
    );
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n').length).toBeGreaterThan(20);
  });
});

it('refuses what is not restricted, so that the tests above can fail', async () => {
  const { objects } = await render(stack, 'default');
  const pod = asPod(
    only(
      podsIn(objects).filter(({ component }) => component === 'api'),
      'the service',
    ),
  );
  const spec = { ...(pod.spec as object), securityContext: {} };
  await expect(dryRun(stack, [{ ...pod, spec }])).rejects.toThrow(/violates PodSecurity "restricted/);
});

it('refuses unknown fields, so that the tests above can fail', async () => {
  const { objects } = await render(stack, 'monitoring');
  const monitor = only(
    objects.filter(({ kind }) => kind === 'ServiceMonitor'),
    'a ServiceMonitor',
  );
  const misspelt = { ...monitor, spec: { ...(monitor.spec as object), endpoint: [] } };
  await expect(dryRun(stack, [misspelt])).rejects.toThrow(/unknown field \W+endpoint/);
});

/** Deployments, Jobs and CronJobs are never refused for what their pods are, so each template is tried as a Pod. */
function asPod({ metadata: { labels, annotations }, spec, origin }: RenderedPod): Manifest {
  const name = `as-${origin.toLowerCase().replace('/', '-')}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: RESTRICTED, labels, ...(annotations === undefined ? {} : { annotations }) },
    spec,
  };
}
