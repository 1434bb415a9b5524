import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Parts, RunningParts } from '../parts/install.js';
import { TRINO_VERSION } from '../parts/trino.js';
import { coordinatorConfig, engineValues, rulesMount } from './engine-values.js';
import { freePort } from '../../support/service/free-port.js';
import type { Processes, Running } from './processes.js';
import { until } from './until.js';

/**
 * How the engine authenticates. `insecure`: a request over plain HTTP is the user of its header, and a token is
 * not looked at. `verified`: every request needs a valid token, over plain HTTP that calls itself forwarded from HTTPS.
 */
export type Mode = 'insecure' | 'verified';
export const MODES: readonly Mode[] = ['insecure', 'verified'];

/** `tls`: every request needs a valid token, over TLS; no run has such an engine from its start. */
export type EngineMode = Mode | 'tls';

const START_DEADLINE = 300_000;

/** Of the nodes of a run's engines; in a cluster it comes out of a Secret. */
const SHARED_SECRET = 'between-the-nodes-of-the-engines-of-one-run';

interface EngineSettings {
  mode: EngineMode;
  issuer: string;
  /** Where the ConfigMap is projected to; the rules must be there before the engine starts. */
  rulesFolder: string;
  /** For the engine's own group provider: `group:user,user` a line. */
  groups?: string;
  /** Certificate and key in one PEM file, read again when it changes; for `tls` alone. */
  keystore?: string;
  /** Properties by name, of the further connectors as well; else `tpch` and `memory`. */
  catalogs?: Record<string, string>;
}

const CATALOGS = { tpch: 'connector.name=tpch\n', memory: 'connector.name=memory\n' };

/**
 * Starts a coordinator that is its own worker, with the settings of `helm/engine`.
 * @returns its URL
 */
export async function startEngine(
  processes: Processes,
  parts: RunningParts & Partial<Pick<Parts, 'connectors'>>,
  settings: EngineSettings,
): Promise<string> {
  const { mode, issuer, rulesFolder, groups, keystore, catalogs } = settings;
  const [port, securePort] = [await freePort(), await freePort()];
  const values = engineValues(mode);
  // What a node of its own, of 1 GB, on a port of its own, needs otherwise; and new rules are loaded within a minute.
  values.service.port = port;
  values.coordinator = { ...values.coordinator, includeCoordinator: true, maxMemoryPerNode: '300MB' };
  if (keystore !== undefined) {
    values.server.config = { https: { enabled: true, port: securePort, keystore: { path: keystore } } };
    values.additionalConfigProperties = [
      ...values.additionalConfigProperties,
      'http-server.https.ssl-context.refresh-time=1s',
    ];
  }
  const accessControl = values.accessControl.properties
    .replace(rulesMount(values).mountPath, rulesFolder)
    .replace('refresh-period=60s', 'refresh-period=1s');
  const trino = await launchNode(processes, parts, {
    name: `trino-${mode}`,
    ...(catalogs !== undefined && { catalogs }),
    ...(catalogs !== undefined && parts.connectors !== undefined && { plugins: parts.connectors }),
    config: coordinatorConfig(values),
    accessControl,
    issuer,
    ...(groups === undefined ? {} : { groups }),
  });
  const url = `http://127.0.0.1:${port}`;
  await untilStarted(trino, url);
  return keystore === undefined ? url : `https://127.0.0.1:${securePort}`;
}

/** What a node of the engine is started with. */
export interface EngineNode {
  /** Also of its folder and its log. */
  name: string;
  config: string;
  accessControl?: string;
  groups?: string;
  issuer: string;
  /** Properties by name; else `tpch` and `memory`. */
  catalogs?: Record<string, string>;
  /** A folder of plugins beside the engine's own. */
  plugins?: string;
}

/** Starts one node of an engine; it may end by itself. */
export async function launchNode(
  processes: Processes,
  parts: Pick<RunningParts, 'javaHome' | 'trino'>,
  node: EngineNode,
): Promise<Running> {
  const folder = join(processes.folder, node.name);
  await mkdir(join(folder, 'etc', 'catalog'), { recursive: true });
  await writeFile(join(folder, 'etc', 'config.properties'), node.config);
  if (node.accessControl !== undefined) {
    await writeFile(join(folder, 'etc', 'access-control.properties'), node.accessControl);
  }
  if (node.groups !== undefined) {
    const file = join(folder, 'etc', 'groups.txt');
    await writeFile(file, node.groups);
    const provider = `group-provider.name=file\nfile.group-file=${file}\n`;
    await writeFile(join(folder, 'etc', 'group-provider.properties'), provider);
  }
  for (const [name, properties] of Object.entries(node.catalogs ?? CATALOGS)) {
    await writeFile(join(folder, 'etc', 'catalog', `${name}.properties`), properties);
  }
  return processes.launch({
    name: node.name,
    command: join(parts.javaHome, 'bin', 'java'),
    args: [
      // One compiler tier: ready after 4 s instead of 11 on two cores, and no test is about throughput.
      ...['-Xmx1G', '-XX:TieredStopAtLevel=1'],
      ...[
        '--add-modules=jdk.incubator.vector',
        '--sun-misc-unsafe-memory-access=allow',
        '--enable-native-access=ALL-UNNAMED',
      ],
      ...[
        '-Dconfig=etc/config.properties',
        `-Dnode.data-dir=${join(folder, 'data')}`,
        `-Dplugin.dir=${[join(parts.trino, 'plugin'), ...(node.plugins === undefined ? [] : [node.plugins])].join(',')}`,
      ],
      ...[
        '-Dnode.environment=stack',
        `-Dnode.id=${node.name}`,
        '-Dnode.bind-ip=127.0.0.1',
        '-Dnode.internal-address=127.0.0.1',
      ],
      ...['-cp', `${join(parts.trino, 'launcher')}:${join(parts.trino, 'lib', '*')}`, 'Engine', TRINO_VERSION],
    ],
    // As `env` and `envFrom` of the values give them to every node.
    env: { OIDC_ISSUER: node.issuer, TRINO_SHARED_SECRET: SHARED_SECRET },
    cwd: folder,
  });
}

/** Waits until the node reports its start and still runs: with broken settings it ends after its port is open. */
export async function untilStarted(node: Running, url: string): Promise<void> {
  await until(`${url} has started`, START_DEADLINE, async () => {
    const answer = await fetch(`${url}/v1/info`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    node.assertAlive();
    return (await answer?.text())?.includes('"starting":false') === true ? true : undefined;
  });
}
