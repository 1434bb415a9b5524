import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Block, BuiltCheckout, shellBlocks, timeless } from './support/service/built-checkout.js';
import { GrantlineProcess } from './support/service/grantline-process.js';

const README = readFileSync('README.md', 'utf8');

const BLOCKS = shellBlocks(README);

/** `npm ci`, `npm run check   # why`: what takes minutes or never ends. */
const isNpm = ({ commands }: Block): boolean => commands.split('\n').every((line) => /^(npm .*)?$/.test(line));

/** Of the walk, what is done in the browser once the first block has made the administrator. It is published by itself. */
const AT_THE_CONSOLE = `
BOSS=$(curl -sS --fail-with-body http://localhost:3000/api/auth/login -H 'Content-Type: application/json' \\
  -d '{"username": "boss", "password": "a password for the administrator"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
curl -sS --fail-with-body http://localhost:3000/api/admin/grants -H "Authorization: Bearer $BOSS" -H 'Content-Type: application/json' \\
  -d '{"principal": {"type": "user", "id": 1}, "resource": {"catalog": "tpch"}, "privileges": ["SELECT"]}'
curl -sS --fail-with-body -X POST http://localhost:3000/api/admin/acl/sync -H "Authorization: Bearer $BOSS"
`;

describe('the commands of README', () => {
  let checkout: BuiltCheckout;
  let service: GrantlineProcess;

  beforeAll(async () => {
    checkout = new BuiltCheckout();
    await checkout.run('git', ['init', '--quiet']);
    await checkout.run('git', ['add', '--all']);
    // A scheduled run in between would give the printed version another number.
    const settings = { PORT: '0', OPERATIONS_PORT: '0', ACL_SYNC_ENABLED: 'false' };
    service = new GrantlineProcess(['serve'], settings, { folder: checkout.folder });
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    rmSync(checkout.folder, { recursive: true });
  });

  it('work as printed, print what is printed below them, and leave nothing that git or the checks see', async () => {
    const url = await service.url();
    const blocks = BLOCKS.filter((block) => !isNpm(block));
    const printed = blocks.map(({ commands }) =>
      commands.replaceAll('http://localhost:3000', url).replaceAll('curl -sS', 'curl -sS --fail-with-body'),
    );
    // What npx starts, as the first of them shows, in half the time.
    const [first = '', ...others] = printed;
    const commands = [
      first + AT_THE_CONSOLE.replaceAll('http://localhost:3000', url),
      ...others.map((each) => each.replaceAll('npx --no -- grantline', 'node dist/main.js')),
    ];

    const outputs = await checkout.runBlocks(commands);

    for (const [index, { output }] of blocks.entries()) {
      if (output !== null) expect(timeless(outputs[index] ?? '')).toContain(timeless(output));
    }
    expect(outputs.join('')).toContain('"outcome":"applied"');
    expect(await checkout.run('git', ['ls-files', '--others', '--exclude-standard'])).toBe('');
    // All but what was copied, and is checked where it was.
    await checkout.run(resolve('node_modules/.bin/oxfmt'), ['--check', '.', '!docs']);
  }, 360_000);

  it('are found by npx after a first call that came before the build', async () => {
    const { folder } = checkout;
    const moved = new BuiltCheckout();
    const [dist, later] = ['dist', 'later'].map((name) => join(moved.folder, name)) as [string, string];
    const npx = () =>
      moved.run('npx', ['--no', '--', 'grantline', 'acl', '--help'], { npm_config_cache: join(folder, '.data/npm') });
    renameSync(dist, later);
    await expect(npx()).rejects.toThrow('not built yet: run npm start or npm run build');
    renameSync(later, dist);

    expect(await npx()).toContain('explain');
    rmSync(moved.folder, { recursive: true });
  });

  it('are scripts, where they are npm’s', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const lines = BLOCKS.filter(isNpm).flatMap(({ commands }) => commands.split('\n'));
    const called = lines.flatMap((line) => /^npm (?:run )?(\S+)/.exec(line)?.[1] ?? []);

    expect(called).toEqual(expect.arrayContaining(['ci', 'start', 'demo']));
    expect(called.filter((name) => name !== 'ci' && !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
