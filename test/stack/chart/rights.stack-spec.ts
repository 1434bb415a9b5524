import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';

import axios from 'axios';

import type { TargetAccess } from '../../../src/acl-sync/domain/rules-target.js';
import { ConfigMapRulesTarget } from '../../../src/acl-sync/infrastructure/configmap-rules-target.js';
import { KubernetesApi } from '../../../src/acl-sync/infrastructure/kubernetes-api.js';
import { NodeTimers } from '../../../src/kernel/clock.js';
import { LogBook } from '../../support/fakes/log-book.js';
import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { apply, namespace } from './cluster-objects.js';
import { only, podsIn } from './manifest.js';
import { render } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const kubectl = kubectlOf(stack);
const OWN = 'chart-rights';
const ENGINE = 'chart-rights-engine';
const RULES = `/api/v1/namespaces/${ENGINE}/configmaps/trino-access-control`;
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const pod = {
  spec: { containers: [{ name: 'a', image: 'a' }] },
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a' },
};
const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ENGINE}/roles/grantline-access-control`;

/** The token that a kubelet would give to the service's pod: of its account, and bound to the pod. */
let token: string;

beforeAll(async () => {
  const more = [`--namespace=${OWN}`, `--set=accessControl.configMap.namespace=${ENGINE}`, '--no-hooks'];
  const { objects } = await render(stack, 'default', { more });
  const service = only(
    podsIn(objects).filter(({ component }) => component === 'api'),
    'the service',
  );
  const { metadata, spec } = service;
  const served = { ...pod, metadata: { ...metadata, name: 'grantline-0', namespace: OWN }, spec };
  await apply(stack, [namespace(OWN), namespace(ENGINE)]);
  await apply(stack, objects);
  await apply(stack, [served, { ...configMap('another'), metadata: { name: 'another', namespace: ENGINE } }]);
  const account = spec.serviceAccountName ?? '';
  const bound = ['--bound-object-kind=Pod', '--bound-object-name=grantline-0'];
  token = (await kubectl('create', 'token', account, `--namespace=${OWN}`, ...bound)).trim();
});

async function ask(method: string, path: string, data?: object, type = 'application/json'): Promise<number> {
  const { status } = await axios.request({
    method,
    url: stack.cluster.url + path,
    httpsAgent: new Agent({ ca: readFileSync(stack.cluster.caFile) }),
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
    ...(data === undefined ? {} : { data }),
    validateStatus: () => true,
    timeout: 10_000,
    proxy: false,
  });
  return status;
}

it("the service's token reads and patches the one ConfigMap", async () => {
  expect(await ask('GET', RULES)).toBe(200);
  expect(await ask('PATCH', RULES, { data: { 'rules.json': '{}' } }, MERGE)).toBe(200);
  expect(await kubectl('get', 'configmap', 'trino-access-control', `--namespace=${ENGINE}`, '--output=json')).toContain(
    '"rules.json": "{}"',
  );
});

describe('the check of the rules target', () => {
  const accessTo = async (name: string): Promise<TargetAccess> => {
    const tokenFile = join(stack.folder, 'rights-token');
    await writeFile(tokenFile, token);
    const { url: apiUrl, caFile } = stack.cluster;
    const api = new KubernetesApi({ apiUrl, caFile, tokenFile }, new NodeTimers());
    const target = new ConfigMapRulesTarget(api, { namespace: ENGINE, name, key: name }, new LogBook());
    return target.checkAccess(AbortSignal.timeout(20_000));
  };

  it('finds the rights that the chart gives', async () => {
    expect(await accessTo('trino-access-control')).toEqual({ kind: 'granted' });
  });

  it('names the missing ones, and the account of the pod', async () => {
    expect(await accessTo('another')).toEqual({
      kind: 'denied',
      missingRights: ['get', 'patch'],
      identity: `system:serviceaccount:${OWN}:grantline`,
    });
  });
});

it.each<[string, string, { data?: object; type?: string }]>([
  ['GET', `/api/v1/namespaces/${ENGINE}/configmaps`, {}],
  ['GET', `/api/v1/namespaces/${ENGINE}/configmaps?watch=true&timeoutSeconds=1`, {}],
  ['GET', `/api/v1/namespaces/${ENGINE}/configmaps/another`, {}],
  ['PATCH', `/api/v1/namespaces/${ENGINE}/configmaps/another`, { data: { data: {} }, type: MERGE }],
  ['PUT', RULES, { data: configMap('trino-access-control') }],
  ['DELETE', RULES, {}],
  ['DELETE', `/api/v1/namespaces/${ENGINE}/configmaps`, {}],
  ['POST', `/api/v1/namespaces/${ENGINE}/configmaps`, { data: configMap('more') }],
  [
    'PATCH',
    `/api/v1/namespaces/${ENGINE}/configmaps/more?fieldManager=grantline`,
    { data: configMap('more'), type: APPLY },
  ],
  ['GET', `/api/v1/namespaces/${OWN}/configmaps`, {}],
  ['GET', `/api/v1/namespaces/${OWN}/configmaps/kube-root-ca.crt`, {}],
  ['GET', '/api/v1/namespaces/portal/configmaps/trino-access-control', {}],
  ['GET', `/api/v1/namespaces/${OWN}/secrets`, {}],
  ['GET', `/api/v1/namespaces/${OWN}/secrets/grantline`, {}],
  ['GET', `/api/v1/namespaces/${ENGINE}/secrets/trino-internal`, {}],
  ['GET', `/api/v1/namespaces/${OWN}/pods`, {}],
  ['GET', `/api/v1/namespaces/${OWN}/pods/grantline-0`, {}],
  ['GET', `/api/v1/namespaces/${OWN}/pods/grantline-0/log`, {}],
  ['POST', `/api/v1/namespaces/${OWN}/pods`, { data: pod }],
  ['POST', `/api/v1/namespaces/${OWN}/pods/grantline-0/exec?command=sh`, {}],
  ['POST', `/api/v1/namespaces/${OWN}/serviceaccounts/grantline/token`, { data: { spec: {} } }],
  ['GET', role, {}],
  ['PATCH', role, { data: { rules: [] }, type: MERGE }],
  ['POST', `/apis/batch/v1/namespaces/${OWN}/jobs`, { data: {} }],
  [
    'PATCH',
    `/apis/batch/v1/namespaces/${OWN}/cronjobs/grantline-acl-sync`,
    { data: { spec: { suspend: false } }, type: MERGE },
  ],
  [
    'PATCH',
    `/apis/apps/v1/namespaces/${OWN}/deployments/grantline/scale`,
    { data: { spec: { replicas: 0 } }, type: MERGE },
  ],
  ['DELETE', `/apis/networking.k8s.io/v1/namespaces/${OWN}/networkpolicies`, {}],
  ['POST', '/api/v1/namespaces', { data: { metadata: { name: 'more' } } }],
  ['GET', '/api/v1/nodes', {}],
])('%s %s is forbidden', async (method, path, { data, type }) => {
  expect(await ask(method, path, data, type)).toBe(403);
});
