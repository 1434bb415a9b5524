import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileRulesTarget } from '../../src/acl-sync/infrastructure/file-rules-target.js';

const next = { text: 'rules', hash: 'h', generation: 1, publishedAt: new Date(0) };

describe('the rules in a file', () => {
  let directory: string;
  let target: FileRulesTarget;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'file-target-'));
    target = new FileRulesTarget(directory, 0o640);
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('keeps what stood there byte for byte, be it no text at all', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    await writeFile(join(directory, 'rules.json'), bytes);
    await target.publish(next, await target.read());
    expect(await readFile(join(directory, 'rules.json.bak'))).toEqual(bytes);
  });

  it('leaves nothing else behind', async () => {
    await target.publish(next, await target.read());
    expect(await readdir(directory)).toEqual(['rules.json', 'rules.json.annotations']);
  });

  it.each([0o077, 0o000])('gives both files its mode under umask %i', async (umask) => {
    const before = process.umask(umask);
    try {
      await target.publish(next, await target.read());
      await target.publish({ ...next, text: 'others' }, await target.read());
    } finally {
      process.umask(before);
    }
    const modeOf = async (name: string) => (await stat(join(directory, name))).mode & 0o7777;
    expect([await modeOf('rules.json'), await modeOf('rules.json.bak')]).toEqual([0o640, 0o640]);
  });

  it.each(['rules.json.next', 'rules.json.bak.next', 'rules.json.bak'])(
    'writes through no link planted as %s',
    async (name) => {
      const victim = join(directory, 'victim');
      await writeFile(victim, 'untouched');
      await writeFile(join(directory, 'rules.json'), 'former');
      await symlink(victim, join(directory, name));
      await target.publish(next, await target.read());
      expect(await readFile(victim, 'utf8')).toBe('untouched');
      expect(await readFile(join(directory, 'rules.json'), 'utf8')).toBe('rules');
      expect(await readFile(join(directory, 'rules.json.bak'), 'utf8')).toBe('former');
    },
  );

  it('reads through no link, so that no foreign text becomes the readable copy', async () => {
    await writeFile(join(directory, 'secret'), 'root:hash');
    await symlink(join(directory, 'secret'), join(directory, 'rules.json'));
    await expect(target.read()).rejects.toMatchObject({ reason: 'unreachable' });
  });

  it('does not wait for the writer of a pipe', async () => {
    execFileSync('mkfifo', [join(directory, 'rules.json')]);
    expect(await target.read()).toMatchObject({ text: '' });
  });

  it('is unavailable where the folder cannot be', async () => {
    await writeFile(join(directory, 'taken'), '');
    const blocked = new FileRulesTarget(join(directory, 'taken'), 0o640);
    await expect(blocked.read()).rejects.toMatchObject({ reason: 'unreachable' });
  });
});
