import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failureOf } from '../../src/acl-sync/domain/publication.js';
import { SeparateRulesPreparer } from '../../src/acl-sync/infrastructure/preparation-process.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';

describe('the process that prepares rules', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'preparer-'))));
  afterEach(() => rm(folder, { recursive: true }));

  const running = async (program: string, limits: { milliseconds: number; heapMebibytes: number }) => {
    const file = join(folder, 'program.mjs');
    await writeFile(file, program);
    return new SeparateRulesPreparer(limits, pathToFileURL(file));
  };
  const snapshot = aSnapshot().snapshot();
  const failure = async (preparer: SeparateRulesPreparer) =>
    failureOf(
      await preparer.compile(snapshot, null).then(
        () => null,
        (error: unknown) => error,
      ),
    );

  it('ends at its deadline, whatever it is busy with', async () => {
    const endless = await running('for (;;);', { milliseconds: 500, heapMebibytes: 64 });
    expect(await failure(endless)).toMatchObject({
      reason: 'deadline',
      message: 'compiling and checking the rules takes more than 0.5 s',
    });
  });

  it('ends where its memory does, and the process lives', async () => {
    const greedy = await running('const held = []; for (;;) held.push(new Array(1000).fill({}));', {
      milliseconds: 60_000,
      heapMebibytes: 32,
    });
    expect(await failure(greedy)).toMatchObject({
      reason: 'memory',
      message: 'compiling and checking the rules takes more than 32 MiB',
    });
  });

  it('has as much memory as the service itself, up to a gibibyte', async () => {
    const file = join(folder, 'program.mjs');
    await writeFile(
      file,
      `const held = Array.from({ length: 150 }, () => new Array(131_072).fill(0.5));
       process.on('message', () => process.send({ result: String(held.length) }));`,
    );
    expect(await new SeparateRulesPreparer(undefined, pathToFileURL(file)).compile(snapshot, null)).toBe('150');
  });

  it('answers within its limits', async () => {
    expect(await new SeparateRulesPreparer().compile(snapshot, null)).toMatchObject({
      kind: 'compiled',
      text: expect.stringContaining('"catalogs"') as string,
    });
  });
});
