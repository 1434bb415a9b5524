import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';

import axios from 'axios';

import type { ClusterStack } from '../stack.js';
import { freePort } from '../../support/service/free-port.js';
import type { Processes } from './processes.js';
import { until } from './until.js';

const START_DEADLINE = 120_000;

/** Changes of ConfigMaps by account, without their content. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', verbs: ['get', 'list', 'watch'] },
    { level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] },
    { level: 'None' },
  ],
};

/** The API server's, of a run in this folder: one JSON object a line. */
export function auditLog(runFolder: string): string {
  return join(runFolder, 'logs', 'kubernetes-audit.log');
}

export interface ApiServer {
  url: string;
  caFile: string;
  /** Of a member of `system:masters`. */
  administratorToken: string;
  /** A GET as the administrator. @throws unless the answer is 200 */
  get(path: string): Promise<unknown>;
  /** The signal to the API server alone; etcd goes on. */
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void;
  /** Starts it at its old address after SIGKILL. Returns when it is ready. */
  startAgain(): Promise<void>;
}

/**
 * Starts etcd and kube-apiserver: RBAC, TLS, every admission plug-in that is on by default, and no kubelet.
 * The server makes its own certificate; we make the pair that signs service-account tokens (RSA, as in most clusters).
 */
export async function startApiServer(processes: Processes, parts: ClusterStack['parts']): Promise<ApiServer> {
  const folder = join(processes.folder, 'kubernetes');
  await mkdir(folder);
  const administratorToken = randomUUID();
  const tokens = join(folder, 'tokens.csv');
  await writeFile(tokens, `${administratorToken},administrator,1,"system:masters"\n`, { mode: 0o600 });
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signingKey = join(folder, 'service-accounts.key');
  await writeFile(signingKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await writeFile(join(folder, 'service-accounts.pub'), publicKey.export({ type: 'spki', format: 'pem' }));

  const auditPolicy = join(folder, 'audit-policy.json');
  await writeFile(auditPolicy, JSON.stringify(AUDIT_POLICY));

  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const etcd = processes.launch({
    name: 'etcd',
    command: join(parts.kubernetes, 'etcd'),
    args: [
      // Without fsync a crash of the machine may lose data, and everything is three times as fast.
      ...['--name=test', `--data-dir=${join(folder, 'etcd')}`, '--unsafe-no-fsync', '--log-level=warn'],
      ...[`--listen-client-urls=http://127.0.0.1:${client}`, `--advertise-client-urls=http://127.0.0.1:${client}`],
      ...[`--listen-peer-urls=http://127.0.0.1:${peer}`, `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`],
      `--initial-cluster=test=http://127.0.0.1:${peer}`,
    ],
  });
  const program = {
    name: 'kube-apiserver',
    command: join(parts.kubernetes, 'kube-apiserver'),
    args: [
      ...[`--etcd-servers=http://127.0.0.1:${client}`, `--cert-dir=${join(folder, 'pki')}`],
      ...['--bind-address=127.0.0.1', '--advertise-address=127.0.0.1', `--secure-port=${port}`],
      // It would try to publish a loopback address as the endpoint of the service `kubernetes`, which is not allowed.
      '--endpoint-reconciler-type=none',
      ...['--authorization-mode=RBAC', `--token-auth-file=${tokens}`, '--service-cluster-ip-range=10.96.0.0/16'],
      ...[
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${signingKey}`,
      ],
      ...[`--service-account-key-file=${join(folder, 'service-accounts.pub')}`, '--profiling=false'],
      ...[`--audit-policy-file=${auditPolicy}`, `--audit-log-path=${auditLog(processes.folder)}`],
    ],
  };
  let server = processes.launch(program);

  const url = `https://127.0.0.1:${port}`;
  const caFile = join(folder, 'ca.crt');
  const ready = <T>(probe: () => Promise<T>): Promise<T> =>
    until('kube-apiserver is ready', START_DEADLINE, () => {
      etcd.assertAlive();
      server.assertAlive();
      return probe();
    });
  return ready(async () => {
    const ca = authorityIn(await readFile(join(folder, 'pki', 'apiserver.crt'), 'utf8'));
    const get = reader(url, ca, administratorToken);
    await get('/readyz');
    await writeFile(caFile, ca);
    return {
      ...{ url, caFile, administratorToken, get },
      signal: (name) => process.kill(server.pid, name),
      startAgain: async () => {
        await server.ended;
        server = processes.launch(program);
        await ready(() => get('/readyz'));
      },
    };
  });
}

/** The file holds the server's certificate, then that of the authority that it made for it. */
function authorityIn(pem: string): string {
  const authority = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.[1];
  if (authority === undefined) throw new Error('the certificate authority is not written yet');
  return `${authority}\n`;
}

function reader(baseURL: string, ca: string, token: string): ApiServer['get'] {
  const client = axios.create({
    baseURL,
    headers: { Authorization: `Bearer ${token}` },
    httpsAgent: new Agent({ ca, keepAlive: true }),
    timeout: 5_000,
    proxy: false,
  });
  return async (path) => (await client.get<unknown>(path)).data;
}
