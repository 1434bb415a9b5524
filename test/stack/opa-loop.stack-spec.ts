import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { administratorOf } from '../support/service/administrator.js';
import { ApiClient, signedUp, signIn } from '../support/service/api-client.js';
import { shellBlocks } from '../support/service/built-checkout.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { until } from '../support/service/until.js';
import { BundleGateway } from './opa/bundle-gateway.js';
import { CoordinatorOpa } from './opa/coordinator-opa.js';
import type { VerificationKeys } from './opa/opa-server.js';
import { Processes } from './running/processes.js';

const NATION = { catalogName: 'tpch', schemaName: 'tiny', tableName: 'nation' };
const SCHEMA = { catalog: 'tpch', schema: 'tiny' };

/** A folder with a key, its public half and a token, as the commands of the guide make them. */
class Keys {
  readonly folder = mkdtempSync(join(tmpdir(), 'grantline-opa-keys-'));
  readonly id: string;

  constructor() {
    const [block] = shellBlocks(readFileSync('docs/opa.md', 'utf8'));
    const output = execFileSync('bash', ['-euo', 'pipefail', '-c', block?.commands ?? ''], {
      ...{ cwd: this.folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    });
    this.id = output.trim().split('\n').at(-1) ?? '';
  }

  file(name: 'opa-signing-key.pem' | 'opa-token'): string {
    return join(this.folder, name);
  }

  get verification(): VerificationKeys {
    return { [this.id]: { algorithm: 'ES256', key: readFileSync(join(this.folder, 'opa-public-key.pem'), 'utf8') } };
  }
}

describe('a grant on its way to the decisions of OPA', () => {
  const processes = new Processes(mkdtempSync(join(tmpdir(), 'grantline-opa-loop-')));
  const [first, second] = [new Keys(), new Keys()];
  let database: TestDatabase;
  let gateway: BundleGateway;
  let service: GrantlineProcess;
  let admin: ApiClient;
  let opa: CoordinatorOpa;
  let ana: number;

  const environment = (keys: Keys): Record<string, string> => ({
    ...{ NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', OPERATIONS_PORT: '0' },
    DATABASE_URL: database.url,
    ...{ AUTH_SECRET_KEY: TEST_SECRET, AUTH_BCRYPT_COST: '10', AUTH_REGISTRATION_ENABLED: 'true' },
    ...{ ACL_SYNC_ENABLED: 'false', ACL_METADATA_CATALOG: 'none', SERVICE_QUERY_USER: 'service-account-grantline' },
    ...{ ACL_TARGET: 'file,opa', ACL_FILE_DIRECTORY: join(processes.folder, 'acl') },
    OPA_TOKEN_FILE: first.file('opa-token'),
    OPA_DECISION_LOGS_ENABLED: 'true',
    OPA_BUNDLE_SIGNING_KEY_FILE: keys.file('opa-signing-key.pem'),
  });

  async function serve(keys: Keys): Promise<string> {
    service = new GrantlineProcess(['serve'], environment(keys));
    const url = await service.url();
    const [, operations = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    gateway.target = operations.replace('localhost', '127.0.0.1');
    return url;
  }
  async function stopService(): Promise<void> {
    gateway.target = null;
    service.signal('SIGTERM');
    await service.finished;
  }

  beforeAll(async () => {
    database = await freshDatabase();
    gateway = await BundleGateway.start();
    const url = await serve(first);
    admin = await administratorOf(url, environment(first));
    ({ id: ana } = await signedUp(admin, 'ana'));
    const token = readFileSync(first.file('opa-token'), 'utf8');
    const name = 'trino-coordinator-0';
    const place = { processes, folder: join(processes.folder, name), name, url: gateway.url, token };
    opa = new CoordinatorOpa(place);
    await opa.start(first.verification);
    await until(async () => (await opa.readiness()) !== null);
  });
  afterAll(async () => {
    await opa.stop();
    await stopService();
    await processes.stopAll();
    await gateway.stop();
    await database.drop();
    for (const folder of [processes.folder, first.folder, second.folder]) rmSync(folder, { recursive: true });
  });

  /** Whether a person may read a column of a table. */
  const reads = (tableName = 'nation', user = 'ana'): Promise<unknown> => {
    const resource = { table: { ...NATION, tableName, columns: ['name'] } };
    return opa.ask({ entryPoint: 'allow', user, action: { operation: 'SelectFromColumns', resource } });
  };
  const made = async (path: string, body: object): Promise<number> => {
    const answer = await admin.post(`/api/admin/${path}`, body);
    expect(answer).toMatchObject({ status: 201 });
    return Number(answer.body?.['id']);
  };
  const grant = (table: string, expiresAt: Date | null = null): Promise<number> =>
    made('grants', {
      ...{ principal: { type: 'user', id: ana }, resource: { ...SCHEMA, table }, privileges: ['SELECT'] },
      expires_at: expiresAt,
    });
  const revoke = async (id: number): Promise<void> => {
    expect(await admin.delete(`/api/admin/grants/${id}`)).toMatchObject({ status: 204 });
  };
  const publish = async (): Promise<void> => {
    expect(await admin.post('/api/admin/acl/sync')).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  };
  /** Publishes and waits for a decision. @returns the milliseconds from the end of the run */
  const decidedAfterPublication = async (decision: boolean): Promise<number> => {
    await publish();
    const began = performance.now();
    await until(async () => (await reads()) === decision);
    return Math.round(performance.now() - began);
  };

  /** What is known of the pod's OPA by its own reports. */
  const reported = async (): Promise<unknown> => (await admin.get('/api/admin/acl/status')).body?.['instances'];

  it('has no effect before the first publication: nothing is decided, and the pod is not ready', async () => {
    expect(await reads()).toBeNull();
    expect(await opa.readiness()).toBe(500);
  });

  it('has effect within a second of its publication, and so has its revoke', async () => {
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      const id = await grant('nation');
      times.push(await decidedAfterPublication(true));
      await revoke(id);
      times.push(await decidedAfterPublication(false));
    }
    console.log(`from the end of a run to the decision, by turns grant and revoke: ${times.join(', ')} ms`);
    // The others are late where the machine is busy.
    expect(Math.min(...times)).toBeLessThan(1_000);
  });

  it('is listed alone, and restricted by filters and masks', async () => {
    await grant('nation');
    await decidedAfterPublication(true);
    expect(await opa.readiness()).toBe(200);
    const live = { instance: 'trino-coordinator-0', revision: expect.stringMatching(/^v\d+-/) as string, errors: [] };
    await until(async () => JSON.stringify(await reported()).includes(live.instance));
    expect(await reported()).toMatchObject([live]);
    expect(Math.abs(Date.now() - (await opa.lastAnswer()))).toBeLessThan(60_000);
    const filterResources = ['nation', 'region'].map((tableName) => ({ table: { ...NATION, tableName } }));
    const listing = { operation: 'FilterTables', filterResources };
    expect(await opa.ask({ entryPoint: 'batch', user: 'ana', action: listing })).toEqual([0]);

    const restricted = { principal: { type: 'user', id: ana }, resource: { ...SCHEMA, table: 'nation' } };
    await made('policies', { kind: 'row_filter', ...restricted, expression: 'regionkey = 1' });
    const masked = { ...restricted.resource, column: 'name' };
    await made('policies', { kind: 'column_mask', ...restricted, resource: masked, expression: "'***'" });
    await publish();
    const filters = { operation: 'GetRowFilters', resource: { table: NATION } };
    const asksFilters = () => opa.ask({ entryPoint: 'rowFilters', user: 'ana', action: filters });
    await until(async () => JSON.stringify(await asksFilters()) === '[{"expression":"regionkey = 1"}]');
    const columns = ['nationkey', 'name'].map((columnName) => ({
      column: { ...NATION, columnName, columnType: 'varchar(25)' },
    }));
    const masks = { operation: 'GetColumnMask', filterResources: columns };
    expect(await opa.ask({ entryPoint: 'batchColumnMasks', user: 'ana', action: masks })).toEqual([
      { index: 1, viewExpression: { expression: "CAST(('***') AS varchar(25))" } },
    ]);
  });

  it('counts as used after a decision, by the decision log of OPA, and one that decides nothing is listed', async () => {
    const [used, other] = [await grant('customer'), await grant('supplier')];
    await publish();
    await until(async () => (await reads('customer')) === true);
    const unused = async (): Promise<string> =>
      JSON.stringify((await admin.get('/api/admin/access/unused?days=1&limit=200')).body);
    expect(await unused()).toContain(`"grant":{"id":${other},`);
    await until(async () => !(await unused()).includes(`"grant":{"id":${used},`));
    expect(await unused()).toContain(`"grant":{"id":${other},`);
  });

  it('goes on as before where a bundle is changed on its way, and the next one that is not is taken', async () => {
    const id = await grant('region');
    await publish();
    await until(async () => (await reads('region')) === true);

    gateway.attack = { name: 'ana', keepsSignature: true };
    await revoke(id);
    await publish();
    await until(() => opa.log.includes('digest mismatch'));
    gateway.attack.keepsSignature = false;
    await until(() => opa.log.includes('bundle missing .signatures.json file'));
    expect([await reads('region'), await opa.readiness()]).toEqual([true, 200]);
    await until(async () => JSON.stringify(await reported()).includes('.signatures.json'));

    gateway.attack = null;
    await until(async () => (await reads('region')) === false);
  });

  it('is decided with the former and with the new key while it is replaced, and then with the new one alone', async () => {
    const both = { ...first.verification, ...second.verification };
    const restarted = async (keys: VerificationKeys) => {
      await opa.start(keys);
      await until(async () => (await reads().catch(() => null)) === true);
    };
    await restarted(both);
    await stopService();
    admin = await signedInAt(await serve(second));
    const id = await grant('region');
    await publish();
    await until(async () => (await reads('region')) === true);
    await restarted(second.verification);

    await stopService();
    admin = await signedInAt(await serve(first));
    await revoke(id);
    await publish();
    await until(() => new RegExp(`verification key corresponding to ID ${first.id} not found`).test(opa.log));
    expect(await reads('region')).toBe(true);
    await stopService();
    admin = await signedInAt(await serve(second));
    await until(async () => (await reads('region')) === false);
  });

  it('is decided while Grantline is away, by the kept bundle after a restart, and ends at its time', async () => {
    // On a busy machine the first grants may end before they are live.
    let end = new Date();
    for (let seconds = 15; (await reads('orders')) !== true; seconds *= 2) {
      end = new Date(Date.now() + seconds * 1_000);
      await grant('orders', end);
      await publish();
      await until(async () => (await reads('orders')) === true || Date.now() > end.getTime());
    }
    await stopService();
    await opa.start(second.verification);
    await until(async () => (await reads('orders').catch(() => null)) !== null);
    expect([await reads('orders'), await reads(), await opa.readiness()]).toEqual([true, true, 200]);
    await until(async () => (await reads('orders')) === false);
    expect(Date.now()).toBeGreaterThanOrEqual(end.getTime());
    expect(Date.now() - end.getTime()).toBeLessThan(2_000);
    expect(await reads()).toBe(true);
  });

  it('is not decided by a new pod before Grantline is back', async () => {
    await opa.remove();
    await opa.start(second.verification);
    await until(async () => (await opa.readiness()) !== null);
    expect([await reads(), await opa.readiness()]).toEqual([null, 500]);
    await serve(second);
    await until(async () => (await reads()) === true);
    expect(await opa.readiness()).toBe(200);
  });

  async function signedInAt(url: string): Promise<ApiClient> {
    const client = new ApiClient(url);
    return client.as((await signIn(client, 'admin')).access_token);
  }
});
