import { openStack, type ChartStack } from '../stack.js';
import { only, podsIn } from './manifest.js';
import { NetworkReach, type Peer } from './network-reach.js';
import { RELEASE_NAMESPACE, render } from './rendering.js';

const stack: ChartStack = openStack(process.env);

const pod = (namespace: string, labels: Record<string, string> = {}): Peer => ({ namespace, labels });
const trino = (component: string) => ({ 'app.kubernetes.io/name': 'trino', 'app.kubernetes.io/component': component });

/** Peers of the chart's pods. Addresses represent peers outside the cluster or without labels. */
const OTHERS: Record<string, [Peer, number, string?]> = {
  dns: [pod('kube-system', { 'k8s-app': 'kube-dns' }), 53, 'UDP'],
  'node-local dns': [{ address: '169.254.20.10' }, 53, 'UDP'],
  database: [{ address: '10.20.0.5' }, 5432],
  pooler: [{ address: '10.20.0.5' }, 6432],
  engine: [pod('engine', trino('coordinator')), 8080],
  worker: [pod('engine', trino('worker')), 8080],
  'engine elsewhere': [pod('another', trino('coordinator')), 8080],
  'kubernetes api': [{ address: '10.0.0.10' }, 6443],
  'identity provider': [{ address: '203.0.113.7' }, 443],
  'identity provider within': [pod('identity', { app: 'keycloak' }), 8443],
  'mail server': [{ address: '203.0.113.8' }, 25],
  metadata: [{ address: '169.254.169.254' }, 80],
  neighbour: [pod(RELEASE_NAMESPACE, { app: 'another' }), 3000],
};

const CALLERS: Record<string, Peer> = {
  internet: { address: '198.51.100.9' },
  'ingress controller': pod('ingress-nginx'),
  gateway: pod('gateways'),
  prometheus: pod('monitoring', { 'app.kubernetes.io/name': 'prometheus' }),
  grafana: pod('monitoring', { 'app.kubernetes.io/name': 'grafana' }),
  neighbour: pod(RELEASE_NAMESPACE, { app: 'another' }),
  portal: pod(RELEASE_NAMESPACE, { app: 'portal' }),
  engine: pod('engine', trino('coordinator')),
};

/** Each of the chart's pods: the peers that it reaches, and those that reach it, with ports. */
async function reach(set: string, ...settings: string[]): Promise<Record<string, { to: string[]; from: string[] }>> {
  const { objects } = await render(stack, set, { more: settings.map((setting) => `--set=settings.${setting}`) });
  const network = new NetworkReach(objects);
  const own = new Map(
    podsIn(objects).map(({ component, metadata: { labels } }) => [component, pod(RELEASE_NAMESPACE, labels)]),
  );
  const callers = Object.entries({ ...CALLERS, ...Object.fromEntries(own) });
  return Object.fromEntries(
    [...own].map(([component, self]) => {
      const to = Object.entries(OTHERS).filter(([, [other, port, protocol]]) =>
        network.allows(self, other, port, protocol),
      );
      const from = callers.flatMap(([name, caller]) =>
        [3000, 9464].filter((port) => network.allows(caller, self, port)).map((port) => `${name}:${port}`),
      );
      return [component, { to: to.map(([name]) => name), from }];
    }),
  );
}

const DNS = ['dns', 'node-local dns'];
const API = [...DNS, 'database', 'engine', 'worker', 'kubernetes api', 'identity provider'];
const RUN = [...DNS, 'database', 'kubernetes api', 'identity provider'];

describe('connections that the rendered network policies allow', () => {
  it.each([
    // 443 is open to any address, because the API server of Kubernetes may have any.
    [
      'default',
      {
        api: { to: API, from: ['test:3000'] },
        'acl-sync': { to: RUN, from: [] },
        migration: { to: [...DNS, 'database'], from: [] },
        test: { to: DNS, from: [] },
      },
    ],
    [
      'narrow-network',
      {
        api: {
          to: [...DNS, 'pooler', 'engine', 'kubernetes api', 'identity provider within'],
          from: ['portal:3000', 'test:3000'],
        },
        'acl-sync': { to: [...DNS, 'pooler', 'kubernetes api'], from: [] },
        migration: { to: [...DNS, 'pooler'], from: [] },
        test: { to: DNS, from: [] },
      },
    ],
    [
      'retired-route',
      {
        api: { to: API, from: ['test:3000'] },
        'acl-sync': { to: RUN, from: [] },
        'retired-route': { to: [...DNS, 'identity provider'], from: [] },
        migration: { to: [...DNS, 'database'], from: [] },
        test: { to: DNS, from: [] },
      },
    ],
  ])('%s', async (set, expected) => {
    expect(await reach(set)).toEqual(expected);
  });

  it.each([
    ['ingress', ['ingress controller:3000', 'test:3000']],
    ['httproute', ['gateway:3000', 'test:3000']],
    ['monitoring', ['prometheus:9464', 'test:3000']],
    ['no-engine', ['test:3000']],
    ['opa', ['engine:9464', 'test:3000']],
  ])('%s: the peers that reach the service', async (set, from) => {
    expect((await reach(set))['api']?.from).toEqual(from);
  });

  it('lets OPA of every engine in, and the peers that are named as the engine', async () => {
    const keys = ['opaToken', 'opaSigningKey'].map((key) => `--set=secrets.service.keys.${key}=a`);
    const { objects } = await render(stack, 'several-engines', {
      more: [...keys, '--set-json=networkPolicy.engine.to=[{"ipBlock":{"cidr":"10.30.0.0/16"}}]'],
    });
    const network = new NetworkReach(objects);
    const service = only(
      podsIn(objects).filter(({ component }) => component === 'api'),
      'the service',
    );
    const self = pod(RELEASE_NAMESPACE, service.metadata.labels);
    const callers = { ...CALLERS, warehouse: pod('warehouse'), elsewhere: { address: '10.30.0.9' } };
    const from = Object.entries(callers).filter(([, caller]) => network.allows(caller, self, 9464));
    expect(from.map(([name]) => name)).toEqual(['engine', 'warehouse', 'elsewhere']);
  });

  it('leaves a cluster without an engine without a way to one', async () => {
    expect((await reach('no-engine'))['api']?.to).toEqual(RUN);
  });

  it.each([
    ['no JWT for the engine', [], 'engine'],
    ['no engine', ['SERVICE_QUERY_HOST='], undefined],
  ])('lets people sign in at the identity provider with %s', async (_, settings, engine) => {
    const withoutToken = ['SERVICE_QUERY_JWT_ENABLED=false', ...settings];
    const signIn = ['AUTH_OIDC_ISSUER=https://idp.example.org/realms/data', 'PUBLIC_URL=https://data.example.org'];
    const provider = 'identity provider within';
    const others = [...DNS, 'pooler', ...[engine ?? []].flat(), 'kubernetes api'];
    expect((await reach('narrow-network', ...withoutToken))['api']?.to).toEqual(others);
    expect((await reach('narrow-network', ...withoutToken, ...signIn))['api']?.to).toEqual([...others, provider]);
  });

  it('denies nothing where another tool owns the policies, so that the tests above can fail', async () => {
    const { api } = await reach('no-network-policy');
    expect(api?.to).toEqual(Object.keys(OTHERS));
    expect(api?.from).toContain('internet:9464');
  });
});
