import { ApiClient, registrant } from '../support/service/api-client.js';
import type { EmbeddedCluster } from '../support/database/embedded-cluster.js';
import { until } from '../support/service/until.js';

/** A registration that waits for a lock, and the release of that lock. */
export async function heldRegistration(url: string, cluster: EmbeddedCluster) {
  const other = await cluster.connect();
  await other.query('BEGIN');
  await other.query('LOCK TABLE users IN ACCESS EXCLUSIVE MODE');
  const registration = new ApiClient(url).post('/api/auth/register', registrant('ana'));
  const waits = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass`;
  await until(async () => (await other.query(waits)).rowCount !== 0);
  return { registration, release: () => other.end() };
}
