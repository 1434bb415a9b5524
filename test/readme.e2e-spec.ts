import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { folderOfClusters } from './support/database/embedded-cluster.js';
import { GrantlineProcess } from './support/service/grantline-process.js';

const CHECKOUT = '.gitignore .prettierignore .prettierrc.json README.md dist docs migrations package.json'.split(' ');
const README = readFileSync('README.md', 'utf8');

interface Block {
  commands: string;
  /** What is printed below it as its output. */
  output: string | null;
}

const BLOCKS = [...README.matchAll(/```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?/gs)].map(
  ([, commands = '', output = null]): Block => ({ commands, output }),
);

/** `npm ci`, `npm run check   # why`: what takes minutes or never ends. */
const isNpm = ({ commands }: Block): boolean => commands.split('\n').every((line) => /^(npm .*)?$/.test(line));

/** Times differ from run to run. */
const timeless = (text: string): string => text.replace(/\d+ ms/g, 'N ms');

describe('the commands of README', () => {
  let folder: string;
  let service: GrantlineProcess;
  const run = async (command: string, args: string[]): Promise<string> =>
    (await promisify(execFile)(command, args, { cwd: folder })).stdout;

  beforeAll(async () => {
    // A built checkout of its own, so that the relative paths in the text are true.
    folder = folderOfClusters();
    for (const name of CHECKOUT) cpSync(name, join(folder, name), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    await run('git', ['init', '--quiet']);
    await run('git', ['add', '--all']);
    service = new GrantlineProcess(['serve'], { PORT: '0', OPERATIONS_PORT: '0' }, { folder });
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    rmSync(folder, { recursive: true });
  });

  it('work as printed, print what is printed below them, and leave nothing that git or the checks see', async () => {
    const url = await service.url();
    const marker = '-- end of block --';
    const blocks = BLOCKS.filter((block) => !isNpm(block));
    const script = blocks.map(({ commands }) => `${commands}echo '${marker}'\n`).join('');
    const printed = script.replaceAll('http://localhost:3000', url).replaceAll('curl -sS', 'curl -sS --fail-with-body');

    const outputs = (await run('bash', ['-euo', 'pipefail', '-c', printed])).split(`${marker}\n`);

    for (const [index, { output }] of blocks.entries()) {
      if (output !== null) expect(timeless(outputs[index] ?? '')).toContain(timeless(output));
    }
    expect(outputs.join('')).toContain('"outcome":"applied"');
    expect(await run('git', ['ls-files', '--others', '--exclude-standard'])).toBe('');
    await run(resolve('node_modules/.bin/prettier'), ['--check', '.']);
  });

  it('are scripts, where they are npm’s', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const lines = BLOCKS.filter(isNpm).flatMap(({ commands }) => commands.split('\n'));
    const called = lines.flatMap((line) => /^npm (?:run )?(\S+)/.exec(line)?.[1] ?? []);

    expect(called).toEqual(expect.arrayContaining(['ci', 'start', 'demo', 'check', 'test']));
    expect(called.filter((name) => name !== 'ci' && !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
