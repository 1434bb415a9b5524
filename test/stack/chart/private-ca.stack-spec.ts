import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { databaseAccount } from '../../../src/platform/database/embedded-cluster.js';
import { folderOfClusters } from '../../support/database/embedded-cluster.js';
import { ownPostgres, type OwnPostgres } from '../../support/database/own-postgres.js';
import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { apply, namespace } from './cluster-objects.js';
import type { Manifest } from './manifest.js';
import { CHART, HELM_3, HELM_4, RELEASE, valuesFile, type Helm } from './rendering.js';
import { StandIn } from './stand-in.js';

const stack: ChartStack = openStack(process.env);
const kubectl = kubectlOf(stack);
const run = promisify(execFile);
const secret = () => randomBytes(36).toString('base64');

/** A PostgreSQL whose certificate comes from a private authority, and the authority's own certificate. */
class PrivateDatabase {
  private readonly folder = folderOfClusters();
  private postgres: OwnPostgres | undefined;
  authority = '';

  async start(): Promise<void> {
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: this.folder, stdio: 'ignore' });
    const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout'];
    openssl('req', '-x509', ...key, 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=Private authority');
    openssl('req', ...key, 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
    writeFileSync(join(this.folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
    openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.crt', ...signed);
    const account = databaseAccount();
    if (account !== null) chownSync(join(this.folder, 'server.key'), account.uid, account.gid);
    this.authority = readFileSync(join(this.folder, 'ca.crt'), 'utf8');
    const file = (name: string) => join(this.folder, name);
    const tls = ['ssl=on', `ssl_cert_file=${file('server.crt')}`, `ssl_key_file=${file('server.key')}`];
    this.postgres = await ownPostgres(tls);
  }

  async stop(): Promise<void> {
    await this.postgres?.drop();
    rmSync(this.folder, { recursive: true });
  }

  /** What the chart's Secrets hold. */
  secrets(): Record<string, string> {
    const secured = (url = '') => `${url.replace('@127.0.0.1:', '@localhost:')}?sslmode=verify-full`;
    const urls = { url: secured(this.postgres?.url), migrationUrl: secured(this.postgres?.migrationUrl) };
    return {
      'auth-secret-key': secret(),
      'client-secret': secret(),
      'database-url': urls.url,
      'database-migration-url': urls.migrationUrl,
    };
  }
}

/** The first install by Helm, with its hooks, in two namespaces of its own. */
class FirstInstall {
  private readonly standIn: StandIn;

  constructor(
    private readonly name: string,
    private readonly helm: Helm,
  ) {
    this.standIn = new StandIn(stack, name);
  }

  /** @param before objects that exist beforehand, beside the Secrets and namespaces */
  async run(secrets: Record<string, string>, values: object, before: readonly Manifest[] = []): Promise<void> {
    const made = ['grantline', 'grantline-migration'].map((name): Manifest => ({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: this.name } },
      stringData: secrets,
    }));
    const placed = before.map((object) => ({ ...object, metadata: { ...object.metadata, namespace: this.name } }));
    await apply(stack, [namespace(this.name), namespace(`${this.name}-engine`)]);
    await apply(stack, [...made, ...placed]);
    this.standIn.start();
    const file = join(this.standIn.folder, 'values.json');
    const engine = { accessControl: { configMap: { namespace: `${this.name}-engine` } } };
    writeFileSync(file, JSON.stringify({ ...values, ...engine }));
    const files = [`--values=${valuesFile('default')}`, `--values=${file}`];
    // Helm 3 waits for ReplicaSets, which no controller makes here.
    const wait = this.helm === HELM_4 ? ['--wait'] : [];
    await this.command('install', RELEASE, CHART, ...files, ...wait, '--timeout=60s');
  }

  async uninstall(): Promise<void> {
    await this.command('uninstall', RELEASE);
  }

  stop(): Promise<void> {
    return this.standIn.stop();
  }

  log(name: string): string {
    const file = join(this.standIn.folder, `${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async names(kinds: string): Promise<string[]> {
    const found = await kubectl('get', kinds, `--namespace=${this.name}`, '--output=name');
    return found.trim().split('\n').sort();
  }

  private async command(...args: string[]): Promise<void> {
    const { kubeconfig } = stack.cluster;
    const env = { ...process.env, KUBECACHEDIR: `${kubeconfig}.cache` };
    const flags = [`--namespace=${this.name}`, `--kubeconfig=${kubeconfig}`];
    await run(join(stack.parts.clusterTools, this.helm), [...args, ...flags], { env });
  }
}

describe('the first install where PostgreSQL has a certificate of a private authority', () => {
  const database = new PrivateDatabase();
  const installs: FirstInstall[] = [];
  const firstInstall = (name: string, helm: Helm = HELM_4): FirstInstall => {
    const install = new FirstInstall(name, helm);
    installs.push(install);
    return install;
  };
  beforeAll(() => database.start());
  afterEach(async () => {
    for (const install of installs.splice(0)) await install.stop();
  });
  afterAll(() => database.stop());

  it.each<[string, Helm, () => object, () => Manifest[]]>([
    ['pem', HELM_4, () => ({ pem: database.authority }), () => []],
    ['pem', HELM_3, () => ({ pem: database.authority }), () => []],
    [
      'configmap',
      HELM_4,
      () => ({ existingConfigMap: 'company', key: 'bundle.pem' }),
      () => [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'company' },
          data: { 'bundle.pem': database.authority },
        },
      ],
    ],
    [
      'secret',
      HELM_4,
      () => ({ existingSecret: 'company' }),
      () => [
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'company' },
          stringData: { 'ca.crt': database.authority },
        },
      ],
    ],
  ])(
    'works with trustedCertificates from a %s, by %s, and leaves no Job behind',
    async (source, helm, values, before) => {
      const install = firstInstall(`private-ca-${source}-${helm}`, helm);
      await install.run(database.secrets(), { trustedCertificates: values() }, before());
      expect(install.log('grantline-migration')).not.toContain('certificate');
      expect(await install.names('jobs,configmaps')).toEqual([
        ...(source === 'configmap' ? ['configmap/company'] : []),
        'configmap/grantline-access-control-target',
        ...(source === 'pem' ? ['configmap/grantline-trusted-certificates'] : []),
      ]);
      await install.uninstall();
      expect(await install.names('jobs,configmaps,serviceaccounts,networkpolicies,deployments,services')).toEqual([
        source === 'configmap' ? 'configmap/company' : '',
      ]);
    },
  );

  it('fails in the migration without them, which says why and stays to be read', async () => {
    const install = firstInstall('private-ca-none');
    await expect(install.run(database.secrets(), {})).rejects.toThrow(/pre-install/);
    expect(install.log('grantline-migration')).toMatch(/unable to verify|self-signed certificate/);
    expect(await install.names('jobs')).toEqual(['job.batch/grantline-migration']);
  });
});
