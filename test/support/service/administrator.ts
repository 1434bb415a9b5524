import { RegistrationService } from '../../../src/auth/registration.service.js';
import { ApiClient, passwordOf, signIn, registrant } from './api-client.js';
import { runGrantline } from './grantline-process.js';
import type { TestService } from './service.js';

/** A client that is signed in as an administrator of its own. */
export async function administrator(service: TestService, username = 'admin'): Promise<ApiClient> {
  await service.app
    .get(RegistrationService)
    .createAdministrator({ username, email: `${username}@example.org`, password: passwordOf(username) });
  const client = new ApiClient(service);
  return client.as((await signIn(client, username)).access_token);
}

/** The same for the specs of a describe block. */
export function sharedAdministrator(service: TestService): ApiClient {
  const client = new ApiClient(service);
  beforeAll(async () => Object.assign(client, await administrator(service)));
  return client;
}

/** Registers people; their ids by their names. */
export async function people<N extends string>(service: TestService, ...names: N[]): Promise<Record<N, number>> {
  const client = new ApiClient(service);
  const ids: [N, number][] = [];
  for (const name of names) {
    const { body } = await client.post('/api/auth/register', registrant(name));
    ids.push([name, Number(body?.['id'])]);
  }
  return Object.fromEntries(ids) as Record<N, number>;
}

/** The same of a service in another process, by the command line. */
export async function administratorOf(url: string, environment: Record<string, string>): Promise<ApiClient> {
  const options = ['--username', 'admin', '--email', 'admin@example.org'];
  const { code, stderr } = await runGrantline(['users', 'create-admin', ...options], environment, passwordOf('admin'));
  if (code !== 0) throw new Error(stderr);
  const client = new ApiClient(url);
  return client.as((await signIn(client, 'admin')).access_token);
}
