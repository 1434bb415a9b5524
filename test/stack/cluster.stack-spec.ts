import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';

import axios from 'axios';

import { RULES_CONFIGMAP, RULES_NAMESPACE, rulesConfigMap } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const NAMESPACE_PATH = `/api/v1/namespaces/${RULES_NAMESPACE}/configmaps`;
const run = promisify(execFile);

describe("the service account's token", () => {
  const client = axios.create({
    baseURL: stack.cluster.url,
    httpsAgent: new Agent({ ca: readFileSync(stack.cluster.caFile) }),
    headers: { Authorization: `Bearer ${readFileSync(stack.cluster.tokenFile, 'utf8')}` },
    validateStatus: () => true,
    timeout: 10_000,
    proxy: false,
  });

  it('reads and patches the one ConfigMap', async () => {
    expect((await client.get(`${NAMESPACE_PATH}/${RULES_CONFIGMAP}`)).status).toBe(200);
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const patch = { metadata: { annotations: { 'grantline.test/touched': 'yes' } } };
    expect((await client.patch(`${NAMESPACE_PATH}/${RULES_CONFIGMAP}`, patch, { headers })).status).toBe(200);
    expect((await rulesConfigMap(kubectlOf(stack))).annotations).toMatchObject({ 'grantline.test/touched': 'yes' });
  });

  it('may do nothing else there', async () => {
    expect((await client.get(NAMESPACE_PATH)).status).toBe(403);
    expect((await client.get(`${NAMESPACE_PATH}/another`)).status).toBe(403);
    expect((await client.delete(`${NAMESPACE_PATH}/${RULES_CONFIGMAP}`)).status).toBe(403);
  });
});

it('the pinned versions of kubectl and both Helms run', async () => {
  const version = async (program: string, ...args: string[]) =>
    (await run(join(stack.parts.clusterTools, program), args)).stdout;
  expect(await version('kubectl', 'version', '--client')).toContain('v1.36.3');
  expect(await version('helm', 'version', '--short')).toContain('v4.2.3');
  expect(await version('helm3', 'version', '--short')).toContain('v3.17.3');
});

it('the server is the pinned one, and says so', async () => {
  expect(await kubectlOf(stack)('version', '--output=json')).toContain('"gitVersion": "v1.36.3"');
});
