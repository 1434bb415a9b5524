import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { failureOf } from '../../src/acl-sync/domain/publication.js';
import { SeparateRulesPreparer } from '../../src/acl-sync/infrastructure/preparation-process.js';
import { writeSnapshot } from '../../src/trino-rules/model/snapshot-file.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';

describe('the process that prepares rules', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'preparer-'))));
  afterEach(() => rm(folder, { recursive: true }));

  const running = async (program: string, limits: { milliseconds: number; heapMebibytes: number }) => {
    const file = join(folder, 'program.mjs');
    await writeFile(file, program);
    return new SeparateRulesPreparer(0, limits, pathToFileURL(file));
  };
  const snapshot = aSnapshot().snapshot();
  const failure = async (preparer: SeparateRulesPreparer) =>
    failureOf(
      await preparer.run('compile', snapshot, null).then(
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
    expect(await new SeparateRulesPreparer(0, undefined, pathToFileURL(file)).run('compile', snapshot, null)).toBe(
      '150',
    );
  });

  it('answers within its limits', async () => {
    expect(await new SeparateRulesPreparer().run('compile', snapshot, null)).toMatchObject({
      kind: 'compiled',
      text: expect.stringContaining('"catalogs"') as string,
    });
  });

  it('keeps its process for the next task if told to, unless the task failed', async () => {
    const file = join(folder, 'program.mjs');
    await writeFile(
      file,
      `process.on('message', ({ args: [, limit] }) => process.send(limit === 1 ? { thrown: 'no' } : { result: process.pid }));`,
    );
    const processes = async (keptMs: number): Promise<number> => {
      const preparer = new SeparateRulesPreparer(keptMs, undefined, pathToFileURL(file));
      const compile = (limit: number | null) => preparer.run('compile', snapshot, limit);
      const [first, second] = [await compile(null), await compile(null)];
      await expect(compile(1)).rejects.toThrow('no');
      const third = await compile(null);
      await preparer.onApplicationShutdown();
      return new Set<unknown>([first, second, third]).size;
    };
    expect(await processes(60_000)).toBe(2);
    expect(await processes(0)).toBe(3);
  });

  it('signs a bundle; replicas agree on its tag, though signatures differ', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const text = JSON.stringify(writeSnapshot(snapshot));
    const [one, other, unsigned] = await Promise.all(
      [key, key, null].map((by) => new SeparateRulesPreparer().run('bundle', text, 'v7-0123456789ab', by)),
    );
    expect(gunzipSync(one?.archive ?? '').toString()).toMatch(
      /"revision":"v7-0123456789ab"[^]*"signatures":\["[\w.-]+"\]/,
    );
    expect(one?.archive).not.toEqual(other?.archive);
    expect(one?.tag).toBe(other?.tag);
    expect(unsigned?.tag).not.toBe(one?.tag);
  });
});
