import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import axios from 'axios';

import { shareOf } from '../../support/landing.js';
import { loadSettings, type SettingsCommand } from '../../../src/platform/settings/settings-loader.js';
import { asSuperuser, testPostgres } from '../../support/database/database.js';
import { GrantlineProcess, runGrantline } from '../../support/service/grantline-process.js';
import { startPod, type PodProcess } from '../running/pods.js';
import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { apply, namespace } from './cluster-objects.js';
import { environmentOf, only, podsIn, type RenderedPod } from './manifest.js';
import { CHART, render, VALUE_SETS } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const kubectl = kubectlOf(stack);
const OWN = 'chart-pods';
const ENGINE = 'chart-pods-engine';
const DATABASE = `chart_${randomUUID().replaceAll('-', '')}`;
const { hostname, port } = new URL(stack.cluster.url);

/** What the pods find in their Secrets, by the name of the file. */
const SECRETS: Record<string, string> = {
  'auth-secret-key': randomBytes(36).toString('base64'),
  'client-secret': randomBytes(24).toString('base64'),
  'opa-token': randomBytes(32).toString('hex'),
  'opa-signing-key': generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString(),
  'database-url': testPostgres().url.replace(/\/grantline$/, `/${DATABASE}`),
  'database-migration-url': testPostgres().migrationUrl.replace(/\/grantline$/, `/${DATABASE}`),
};

/** The pod's environment with its Secrets' files in a folder of their own, without a cluster in which it could be started. */
function settingsOf(pod: RenderedPod): Record<string, string> {
  const folder = join(stack.folder, `pod-${randomUUID()}`);
  mkdirSync(folder);
  const files = (pod.spec.volumes ?? []).flatMap(({ secret }) => secret?.items ?? []);
  for (const { path } of files) writeFileSync(join(folder, path), `${SECRETS[path] ?? ''}\n`);
  const rendered = Object.entries(environmentOf(pod));
  const moved = rendered.map(([name, value]) => [name, value.replace('/run/secrets/grantline', folder)] as const);
  const byKubernetes = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  return { ...Object.fromEntries(moved), ...byKubernetes };
}

const COMMANDS: Record<string, SettingsCommand> = { api: 'serve', migration: 'migrate', 'acl-sync': 'acl sync' };

describe.each(shareOf(VALUE_SETS))('the pods of the value set %s', (set) => {
  it('have all settings that they need', async () => {
    const pods = podsIn((await render(stack, set)).objects).filter(({ component }) => component in COMMANDS);
    expect(pods.length).toBeGreaterThan(1);
    for (const pod of pods) {
      const settings = await loadSettings(COMMANDS[pod.component] ?? 'serve', settingsOf(pod));
      expect(settings.isProduction).toBe(true);
    }
  });

  it('begin the command that they are for', async () => {
    const begun = podsIn((await render(stack, set)).objects)
      .filter(({ component }) => component !== 'test')
      .map(({ component, spec }) => [
        component,
        spec.containers.find(({ name }) => name === 'grantline')?.args?.join(' '),
      ]);
    expect(Object.fromEntries(begun)).toMatchObject({ api: 'serve', 'acl-sync': 'acl sync' });
    for (const [, args] of begun) expect(args).toMatch(/^(serve|migrate|acl sync|verify-retired-route https:\S+)$/);
  });
});

describe('from an empty database', () => {
  const closed = createServer((_, response) => response.writeHead(404).end('nothing here'));
  let pods: RenderedPod[];
  /** The service's. */
  let pod: PodProcess;
  let service: GrantlineProcess;
  let url: string;
  let operations: string;

  const podOf = (component: string) =>
    only(
      pods.filter((candidate) => candidate.component === component),
      component,
    );

  beforeAll(async () => {
    await asSuperuser(`CREATE DATABASE ${DATABASE} OWNER grantline_owner`);
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
    const address = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    const more = [
      ...[`--namespace=${OWN}`, `--set=accessControl.configMap.namespace=${ENGINE}`],
      ...[`--set=retiredRoute.url=${address}`, '--set=settings.SERVICE_QUERY_HOST=127.0.0.1'],
      ...['opa-token', 'opa-signing-key'].map((key) => `--set=secrets.service.keys.${camelCased(key)}=${key}`),
    ];
    const { objects } = await render(stack, 'retired-route', {
      more: [...more, '--set=settings.SERVICE_QUERY_PORT=9'],
    });
    pods = podsIn(objects);
    await apply(stack, [namespace(OWN), namespace(ENGINE)]);
    const secrets = ['grantline', 'grantline-migration'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: OWN },
      stringData: SECRETS,
    }));
    const needed = objects.filter(({ kind }) => ['ServiceAccount', 'Role', 'RoleBinding', 'ConfigMap'].includes(kind));
    await apply(stack, [...secrets, ...needed]);
  });

  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    closed.close();
    await asSuperuser(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  });

  it('the migration pod migrates', async () => {
    const { args, environment } = await startPod(stack, podOf('migration'), OWN);
    const { code, stderr } = await runGrantline(args, environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^database: .*\n$/) as string });
  });

  it('the service listens, and is ready', async () => {
    pod = await startPod(stack, podOf('api'), OWN);
    // The machine is not the pod's own: any port of the loopback interface, and no run but those asked for.
    const here = { HOST: '127.0.0.1', PORT: '0', OPERATIONS_PORT: '0', ACL_SYNC_ENABLED: 'false' };
    service = new GrantlineProcess(pod.args, { ...pod.environment, ...here });
    url = await service.url();
    const [, found = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    operations = found.replace('localhost', '127.0.0.1');
    for (const path of ['/health/live', '/health/ready']) expect((await axios.get(operations + path)).status).toBe(200);
  });

  it('the first administrator is made beside it, as the notes say', async () => {
    const notes = readFileSync(join(CHART, 'templates', 'NOTES.txt'), 'utf8');
    expect(notes).toContain('-- node dist/main.js users create-admin --username NAME --email ADDRESS');
    const args = ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'];
    const { code } = await runGrantline(args, pod.environment, 'a password for the administrator\n');
    expect(code).toBe(0);
  });

  it('a run by hand publishes, with the token of the account and nothing else', async () => {
    const { args, environment } = await startPod(stack, podOf('acl-sync'), OWN);
    const { code, stdout } = await runGrantline(args, environment);
    expect(stdout).toContain('TRINO_ACL_SYNC_APPLIED');
    expect(code).toBe(0);
    const rules = await kubectl('get', 'configmap', 'trino-access-control', `--namespace=${ENGINE}`, '--output=json');
    const { data } = JSON.parse(rules) as { data: Record<string, string> };
    expect(data['rules.json']).toContain('"catalogs"');
  });

  it('OPA gets the bundle of that publication by its token', async () => {
    const headers = { Authorization: `Bearer ${SECRETS['opa-token'] ?? ''}`, Prefer: 'wait=20' };
    const { headers: answered } = await axios.get(`${operations}/api/opa/bundles/grantline.tar.gz`, { headers });
    expect(answered['content-type']).toBe('application/vnd.openpolicyagent.bundles');
  });

  it('the retired route is verified', async () => {
    const { args, environment } = await startPod(stack, podOf('retired-route'), OWN);
    expect((await runGrantline(args, environment)).code).toBe(0);
  });

  it('the pods of helm test tell a ready service from a missing one', async () => {
    const test = (name: string) =>
      only(
        pods.filter(({ origin }) => origin === `Pod/grantline-${name}`),
        name,
      );
    expect(await evaluated(test('test-api'), { API_URL: url })).toBe(0);
    expect(await evaluated(test('test-api'), { API_URL: operations })).toBe(1);
    const open = { ENGINE_HOST: '127.0.0.1', ENGINE_PORT: new URL(url).port };
    expect(await evaluated(test('test-engine'), open)).toBe(1);
    expect(await evaluated(test('test-engine'), { ENGINE_HOST: '127.0.0.1', ENGINE_PORT: '9' })).toBe(0);
  });

  it('every metric that the alerts and the dashboard name is exposed', async () => {
    const { objects } = await render(stack, 'monitoring');
    const naming = objects.filter(
      ({ kind, metadata }) => kind === 'PrometheusRule' || metadata.name.endsWith('-dashboard'),
    );
    const named = new Set(JSON.stringify(naming).match(/\bgrantline_[a-z_]+/g));
    expect(named.size).toBeGreaterThan(12);
    const { data } = await axios.get<string>(`${operations}/metrics`);
    const exposed = new Set([...data.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    expect([...named].filter((name) => !exposed.has(name.replace(/_(bucket|count)$/, '')))).toEqual([]);
  });
});

function camelCased(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** @returns the exit code of the pod's own command line, with another place to look at */
function evaluated(pod: RenderedPod, env: Record<string, string>): Promise<number | null> {
  const [container] = pod.spec.containers;
  const [program, ...args] = [...(container?.command ?? []), ...(container?.args ?? [])];
  expect(program).toBe('node');
  return new Promise((done) => {
    const child = execFile(process.execPath, args, { env });
    child.on('close', done);
  });
}
