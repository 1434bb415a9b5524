import { RegistrationService } from '../../src/auth/registration.service.js';
import { ApiClient, passwordOf, signIn, registrant } from './api-client.js';
import type { TestService } from './service.js';

/** A client that is signed in as an administrator of its own. */
export async function administrator(service: TestService, username = 'admin'): Promise<ApiClient> {
  await service.app
    .get(RegistrationService)
    .createAdministrator({ username, email: `${username}@example.org`, password: passwordOf(username) });
  const client = new ApiClient(service.url);
  return client.as((await signIn(client, username)).access_token);
}

/** Registers people; their ids by their names. */
export async function people<N extends string>(service: TestService, ...names: N[]): Promise<Record<N, number>> {
  const client = new ApiClient(service.url);
  const ids: [N, number][] = [];
  for (const name of names) {
    const { body } = await client.post('/api/auth/register', registrant(name));
    ids.push([name, Number(body?.['id'])]);
  }
  return Object.fromEntries(ids) as Record<N, number>;
}
