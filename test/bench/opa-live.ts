import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { migrate } from '../../src/platform/database/migrator.js';
import { keyId } from '../../src/trino-rules/opa/archive.js';
import { CoordinatorOpa } from '../stack/opa/coordinator-opa.js';
import { report, withProgress } from '../stack/progress.js';
import type { Processes } from '../stack/running/processes.js';
import { administratorOf } from '../support/service/administrator.js';
import { fill } from './filling.js';
import { MeasuredProcess } from './measured-process.js';
import { type Grants, worldOf } from './opa-world.js';

const ROUNDS = 5;
const TABLE = { catalog: 'new', schema: 'new', table: 'new' };

/**
 * The built service with OPA alone as its target: from the answer to a change until OPA decides by it, by turns a grant and its revoke.
 * @returns milliseconds, and the most memory of the service
 */
export async function changeToLive(
  processes: Processes,
  grants: Grants,
): Promise<{ times: number[]; peakMiB: number }> {
  const folder = join(processes.folder, `live-${grants}`);
  mkdirSync(folder);
  const world = worldOf(grants);
  const [reader] = world.users;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyFile = join(folder, 'key.pem');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const verifier = { algorithm: 'ES256', key: publicKey.export({ type: 'spki', format: 'pem' }).toString() } as const;
  const token = randomBytes(32).toString('hex');
  const database = await joinEmbeddedPostgres(join(folder, 'database'), () => undefined);
  let service: MeasuredProcess | null = null;
  let opa: CoordinatorOpa | null = null;
  try {
    await migrate(database.migrationUrl, database.url);
    await withProgress(`${grants} grants: written into a database`, () => fill(database.migrationUrl, world));
    const environment = {
      ...{ NODE_ENV: 'test', HOST: '127.0.0.1', PORT: '0', OPERATIONS_PORT: '0', LOG_FORMAT: 'json' },
      ...{ DATABASE_URL: database.url, DATABASE_MIGRATION_URL: database.migrationUrl },
      ...{ AUTH_SECRET_KEY: randomBytes(48).toString('base64'), AUTH_BCRYPT_COST: '10' },
      ...{ ACL_TARGET: 'opa', ACL_METADATA_CATALOG: 'none', OPA_TOKEN: token, OPA_BUNDLE_SIGNING_KEY_FILE: keyFile },
      ACL_WRITABLE_CATALOGS: world.settings.writableCatalogs.join(','),
    };
    service = await MeasuredProcess.start('dist/main.js', ['serve'], environment);
    const admin = await administratorOf(`http://127.0.0.1:${service.port}`, environment);
    const url = `http://127.0.0.1:${service.operationsPort}`;
    const asked = (opa = new CoordinatorOpa({ processes, folder: join(folder, 'opa'), name: 'opa', url, token }));
    await asked.start({ [keyId(publicKey)]: verifier });
    const resource = { table: { catalogName: 'new', schemaName: 'new', tableName: 'new', columns: ['name'] } };
    const action = { operation: 'SelectFromColumns', resource };
    const untilReads = async (wanted: boolean): Promise<void> => {
      const question = { entryPoint: 'allow', user: reader?.name ?? '', action } as const;
      while ((await asked.ask(question).catch(() => null)) !== wanted && !processes.ending.aborted) await delay(10);
    };
    await withProgress(`${grants} grants: first publication`, async () => {
      const published = await admin.post('/api/admin/acl/sync');
      if (published.status !== 200) throw new Error(JSON.stringify(published.body));
      await untilReads(false);
    });
    report('  the service and OPA are ready');
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const principal = { type: 'user', id: reader?.id };
      const granted = await admin.post('/api/admin/grants', { principal, resource: TABLE, privileges: ['SELECT'] });
      if (granted.status !== 201) throw new Error(JSON.stringify(granted.body));
      const at = performance.now();
      await untilReads(true);
      times.push(performance.now() - at);
      const revoked = await admin.delete(`/api/admin/grants/${String(granted.body?.['id'])}`);
      if (revoked.status !== 204) throw new Error(JSON.stringify(revoked.body));
      const from = performance.now();
      await untilReads(false);
      times.push(performance.now() - from);
      report(`  change to live: ${times.slice(-2).map(Math.round).join(' and ')} ms`);
    }
    return { times, peakMiB: service.peakBytes() / 2 ** 20 };
  } finally {
    await opa?.stop();
    await service?.stop();
    await database.release();
  }
}
