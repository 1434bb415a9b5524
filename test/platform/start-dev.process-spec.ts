import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { freePort } from '../support/service/free-port.js';
import { until } from '../support/service/until.js';

const CHECKOUT = [
  'build.js',
  'dev.js',
  'dist',
  'migrations',
  'nest-cli.json',
  'package-lock.json',
  'package.json',
  'src',
];
const CONFIGS = ['bundle.js', 'tsconfig.build.json', 'tsconfig.json'];
const TITLE = "setTitle('Grantline')";

describe('npm run start:dev', () => {
  const folder = folderOfClusters();
  let dev: ChildProcess;
  let service: string;
  let pages: string;
  beforeAll(async () => {
    for (const name of [...CHECKOUT, ...CONFIGS]) cpSync(name, join(folder, name), { recursive: true });
    new EmbeddedCluster(join(folder, 'data')).lay();
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
    const [port, operations, pagesPort] = [await freePort(), await freePort(), await freePort()];
    [service, pages] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${pagesPort}`];
    dev = spawn('npm', ['run', 'start:dev', '--', '--host', '127.0.0.1', '--port', String(pagesPort)], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        DATA_DIR: join(folder, 'data'),
        PORT: String(port),
        OPERATIONS_PORT: String(operations),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [dev.stdout, dev.stderr]) stream?.resume();
  });
  afterAll(() => {
    dev.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  const titleAt = async (url: string): Promise<string | undefined> => {
    const response = await fetch(`${url}/api/openapi.json`).catch(() => null);
    if (response?.ok !== true) return undefined;
    return ((await response.json()) as { info: { title: string } }).info.title;
  };

  it('serves the API and, from their sources, the pages', async () => {
    await until(async () => (await titleAt(service)) === 'Grantline');
    await until(async () => (await titleAt(pages)) === 'Grantline');

    expect(await (await fetch(`${pages}/people/1`)).text()).toContain('/main.tsx');
    expect(await (await fetch(`${pages}/main.tsx`)).text()).toContain('app.tsx');
  });

  it('has a change of the service live without being started again', async () => {
    const file = join(folder, 'src/platform/http/openapi.ts');
    const source = readFileSync(file, 'utf8');
    expect(source).toContain(TITLE);
    writeFileSync(file, source.replace(TITLE, "setTitle('Grantline, changed')"));

    await until(async () => (await titleAt(service)) === 'Grantline, changed');
  });

  it('ends with everything that it started', async () => {
    dev.kill('SIGTERM');
    await once(dev, 'close'); // nobody holds its output any more

    await expect(fetch(service)).rejects.toThrow();
    await expect(fetch(pages)).rejects.toThrow();
  });
});
