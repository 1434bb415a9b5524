import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { RunningParts } from '../parts/install.js';
import { freePort } from '../../support/service/free-port.js';
import type { Processes } from './processes.js';
import { peopleImport } from './people-realm.js';
import { realmImport, type Realm, type ServiceClient } from './realm.js';
import { until } from './until.js';

const START_DEADLINE = 300_000;

/**
 * Starts Keycloak with both realms and an empty database in memory.
 * @returns the issuer's URL. All clients must use this URL: the provider puts the requested host into its tokens.
 */
export async function startIdentityProvider(processes: Processes, parts: RunningParts, realm: Realm): Promise<string> {
  const home = join(processes.folder, 'keycloak');
  await layOut(home, parts.keycloak, realm);
  const port = await freePort();
  const keycloak = processes.launch({
    name: 'keycloak',
    command: join(home, 'bin', 'kc.sh'),
    args: [
      ...['start', '--optimized', '--import-realm', '--cache=local', '--hostname-strict=false'],
      ...['--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`],
    ],
    env: { JAVA_HOME: parts.javaHome },
  });
  const issuer = `http://127.0.0.1:${port}/realms/${realm.name}`;
  await until('Keycloak answers', START_DEADLINE, async () => {
    keycloak.assertAlive();
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(5_000) });
    return answer.ok ? true : undefined;
  });
  return issuer;
}

/** The start script takes the folder above its own as the home: so that is ours, and the large folders are links. */
async function layOut(home: string, installed: string, realm: Realm): Promise<void> {
  await mkdir(join(home, 'data', 'import'), { recursive: true });
  await mkdir(join(home, 'providers'));
  await mkdir(join(home, 'bin'));
  await cp(join(installed, 'bin', 'kc.sh'), join(home, 'bin', 'kc.sh'));
  await cp(join(installed, 'conf'), join(home, 'conf'), { recursive: true });
  for (const folder of ['lib', 'themes']) await symlink(join(installed, folder), join(home, folder));
  for (const [name, content] of Object.entries({ realm: realmImport(realm), people: peopleImport(realm.people) })) {
    await writeFile(join(home, 'data', 'import', `${name}.json`), JSON.stringify(content), { mode: 0o600 });
  }
}

/** A service-account token, by the client-credentials grant. */
export async function serviceToken(issuer: string, client: ServiceClient): Promise<string> {
  const answer = await fetch(`${issuer}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.id,
      client_secret: client.secret,
    }),
  });
  if (!answer.ok) throw new Error(`no token for ${client.id}: ${answer.status} ${await answer.text()}`);
  const { access_token } = (await answer.json()) as { access_token: string };
  return access_token;
}
