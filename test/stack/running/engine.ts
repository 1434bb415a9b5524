import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Parts } from '../parts/install.js';
import { TRINO_VERSION } from '../parts/trino.js';
import { freePort } from './free-port.js';
import type { Processes } from './processes.js';
import { ENGINE_AUDIENCE } from './realm.js';
import { until } from './until.js';

/**
 * How the engine tells who is asking. `insecure`: a request over plain HTTP is whoever its user header says, and a token is
 * not looked at. `verified`: every request needs a valid token, over plain HTTP that calls itself forwarded from HTTPS.
 */
export type Mode = 'insecure' | 'verified';
export const MODES: readonly Mode[] = ['insecure', 'verified'];

const START_DEADLINE = 300_000;

interface EngineSettings {
  mode: Mode;
  issuer: string;
  /** Where the rules are projected to; the file must be there before the engine starts. */
  rulesFile: string;
}

/** Starts a coordinator that is its own worker, with the catalogs `tpch` and `memory`. @returns its URL */
export async function startEngine(processes: Processes, parts: Parts, settings: EngineSettings): Promise<string> {
  const folder = join(processes.folder, `engine-${settings.mode}`);
  const port = await freePort();
  await writeSettings(folder, port, settings);
  const trino = processes.launch({
    name: `trino-${settings.mode}`,
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
        `-Dplugin.dir=${join(parts.trino, 'plugin')}`,
      ],
      ...[
        '-Dnode.environment=stack',
        '-Dnode.id=stack',
        '-Dnode.bind-ip=127.0.0.1',
        '-Dnode.internal-address=127.0.0.1',
      ],
      ...['-cp', `${join(parts.trino, 'launcher')}:${join(parts.trino, 'lib', '*')}`, 'Engine', TRINO_VERSION],
    ],
    cwd: folder,
  });
  const url = `http://127.0.0.1:${port}`;
  await until(`Trino (${settings.mode}) answers`, START_DEADLINE, async () => {
    const answer = await fetch(`${url}/v1/info`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    // An engine with broken rules ends after its port is open: it is ready when it says so and still lives.
    trino.assertAlive();
    return (await answer?.text())?.includes('"starting":false') === true ? true : undefined;
  });
  return url;
}

async function writeSettings(folder: string, port: number, settings: EngineSettings): Promise<void> {
  const file = (name: string, properties: Record<string, string>) =>
    writeFile(
      join(folder, 'etc', name),
      Object.entries(properties)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
    );
  await mkdir(join(folder, 'etc', 'catalog'), { recursive: true });
  await file('config.properties', coordinatorProperties(port, settings));
  await file('access-control.properties', {
    'access-control.name': 'file',
    'security.config-file': settings.rulesFile,
    'security.refresh-period': '1s',
  });
  for (const connector of ['tpch', 'memory'])
    await file(`catalog/${connector}.properties`, { 'connector.name': connector });
}

function coordinatorProperties(port: number, { mode, issuer }: EngineSettings): Record<string, string> {
  return {
    coordinator: 'true',
    'node-scheduler.include-coordinator': 'true',
    'http-server.http.port': String(port),
    'http-server.authentication.type': 'JWT',
    'http-server.authentication.jwt.key-file': `${issuer}/protocol/openid-connect/certs`,
    'http-server.authentication.jwt.principal-field': 'preferred_username',
    'http-server.authentication.jwt.required-issuer': issuer,
    'internal-communication.shared-secret': 'between-the-nodes-of-an-engine-that-has-only-one',
    'protocol.v1.alternate-header-name': 'Query',
    'hide-inaccessible-columns': 'true',
    ...BY_MODE[mode],
  };
}

const BY_MODE: Record<Mode, Record<string, string>> = {
  insecure: { 'http-server.authentication.allow-insecure-over-http': 'true' },
  verified: {
    'http-server.authentication.allow-insecure-over-http': 'false',
    'http-server.process-forwarded': 'true',
    'http-server.authentication.jwt.required-audience': ENGINE_AUDIENCE,
  },
};
