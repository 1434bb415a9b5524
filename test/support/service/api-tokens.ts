import type { TokenScope } from '../../../src/kernel/token-scope.js';
import type { ApiClient } from './api-client.js';
import { noteSecret } from './secrets.js';

/** An API token that the client's account makes for itself, for an hour of the test's clock. */
export async function apiToken(
  client: ApiClient,
  now: Date,
  ...scopes: TokenScope[]
): Promise<{ id: string; token: string }> {
  const expires_at = new Date(now.getTime() + 3_600_000).toISOString();
  const { status, body } = await client.post('/api/auth/tokens', { name: scopes.join(' and '), scopes, expires_at });
  if (status !== 201) throw new Error(`no token was made: ${JSON.stringify(body)}`);
  const token = String(body?.['token']);
  noteSecret(token);
  return { id: String(body?.['id']), token };
}
