import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileRulesTarget } from '../../src/acl-sync/infrastructure/file-rules-target.js';

const next = { text: 'rules', hash: 'h', generation: 1, publishedAt: new Date(0) };

describe('the rules in a file', () => {
  let directory: string;
  let target: FileRulesTarget;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'file-target-'));
    target = new FileRulesTarget(directory);
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('keeps what stood there byte for byte, be it no text at all', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    await writeFile(join(directory, 'rules.json'), bytes);
    await target.publish(next, await target.read());
    expect(await readFile(join(directory, 'rules.json.bak'))).toEqual(bytes);
  });

  it('leaves nothing else behind, not even after a crash in the middle', async () => {
    await writeFile(join(directory, 'rules.json.next'), 'half of a te');
    await target.publish(next, await target.read());
    expect(await readdir(directory)).toEqual(['rules.json']);
  });

  it('is unavailable where the folder cannot be', async () => {
    await writeFile(join(directory, 'taken'), '');
    const blocked = new FileRulesTarget(join(directory, 'taken'));
    await expect(blocked.read()).rejects.toMatchObject({ reason: 'unreachable' });
  });
});
