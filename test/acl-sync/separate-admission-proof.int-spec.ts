import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SeparateAdmissionProof } from '../../src/acl-sync/infrastructure/preparation-process.js';
import type { Guarantee } from '../../src/trino-rules/model/guarantee.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { LogBook } from '../support/fakes/log-book.js';

const LIMITS = { milliseconds: 20_000, work: 100, waiting: 2, loadMilliseconds: 20_000, heapMebibytes: 64 };

const ANA_READS: Guarantee = {
  ...{ id: 1, name: 'ana reads', kind: 'always', mode: 'enforced', count: 0 },
  principal: { type: 'user', id: 1 },
  except: [],
  scopes: [{ resource: { catalog: 'sales' }, privileges: ['SELECT'], isUnfiltered: false }],
};

describe('the proof of what is being written', () => {
  let folder: string;
  let log: LogBook;
  let proof: SeparateAdmissionProof | null = null;
  const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot();
  /** Answers a task with the result of `program`. */
  const asked = async (program: string, limits: Partial<typeof LIMITS> = {}): Promise<SeparateAdmissionProof> => {
    const file = join(folder, 'program.mjs');
    const head = `let asked = 0; process.on('disconnect', () => process.exit());`;
    await writeFile(file, `${head} process.on('message', (task) => { ${program} });`);
    proof = new SeparateAdmissionProof(log, ['rules'], { ...LIMITS, ...limits }, pathToFileURL(file));
    return proof;
  };
  const LOADED = `if (task.name === 'load') return process.send({ result: { refusal: null, verdicts: [] } });`;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'admission-proof-'));
    log = new LogBook();
  });
  afterEach(async () => {
    await proof?.onApplicationShutdown();
    await rm(folder, { recursive: true });
  });

  const refusal = async (by: SeparateAdmissionProof, asked: Snapshot) => (await by.judge(asked, null)).refusal;

  it('compiles and proves it', async () => {
    proof = new SeparateAdmissionProof(log, ['rules'], LIMITS);
    const clash: Snapshot = { ...snapshot, users: [...snapshot.users, { id: 99, name: 'ANA', isActive: true }] };

    expect(await refusal(proof, snapshot)).toBeNull();
    expect(await refusal(proof, clash)).toMatch(/one name means two principals/);
    expect(await refusal(proof, snapshot)).toBeNull();
    expect(log.lines).toEqual([]);
  });

  it('is left to the run at its deadline, and the next one has a new process', async () => {
    const stuck = await asked(
      `${LOADED} if (task.args[0].users[0].id === 1) for (;;);  process.send({ result: { refusal: null, verdicts: [] } });`,
      {
        milliseconds: 2_000,
      },
    );

    expect(await refusal(stuck, snapshot)).toBeNull();
    expect(log.at('warn')).toEqual(['admission proof skipped: over its limits']);
    expect(await refusal(stuck, { ...snapshot, users: [{ id: 2, name: 'bo', isActive: true }] })).toBeNull();
    expect(log.lines).toHaveLength(1);
  });

  it('refuses what breaks the compiler', async () => {
    const broken = await asked(`${LOADED} process.send({ thrown: 'no such case' });`);

    expect(await refusal(broken, snapshot)).toMatch(/cannot be compiled/);
    expect(log.at('error')).toEqual(['admission proof failed: rules could not be compiled']);
  });

  it('tells of guarantees that it could not judge', async () => {
    const undecided = await asked(`process.send({ result: { refusal: 'too much to be checked', verdicts: [] } });`);

    const guaranteed = { ...snapshot, guarantees: [ANA_READS] };
    expect(await undecided.judgeGuarantees(guaranteed)).toEqual({ refusal: 'too much to be checked', verdicts: [] });

    const broken = await asked(`process.send({ thrown: 'no such case' });`);
    expect((await broken.judgeGuarantees(guaranteed)).refusal).toMatch(/cannot be compiled/);
    expect(log.at('error')).toEqual(['admission proof failed: rules could not be compiled']);
  });

  it('refuses nothing for want of a process', async () => {
    const missing = new SeparateAdmissionProof(log, ['rules'], LIMITS, pathToFileURL(join(folder, 'missing.mjs')));

    expect(await refusal(missing, snapshot)).toBeNull();
    expect(log.at('warn')).toHaveLength(1);
  });

  it('refuses nothing where its process has ended meanwhile, and the next one has a new process', async () => {
    const dying = await asked(
      `if (task.name === 'load' && asked > 0) process.exit(1);
       ${LOADED} process.send({ result: { refusal: 'refused ' + ++asked, verdicts: [] } });`,
    );

    expect(await refusal(dying, snapshot)).toBe('refused 1');
    expect(await refusal(dying, snapshot)).toBeNull();
    expect(log.at('warn')).toEqual(['admission proof skipped: no process for it']);
    expect(await refusal(dying, snapshot)).toBe('refused 1');
  });

  it('is left to the run where it takes too much, or too many wait for it', async () => {
    const refusing = await asked(
      `${LOADED} process.send({ result: { refusal: 'refused ' + ++asked, verdicts: [] } });`,
    );
    const large = {
      ...snapshot,
      users: Array.from({ length: 101 }, (_, i) => ({ id: i, name: `p${i}`, isActive: true })),
    };

    expect(await refusal(refusing, large)).toBeNull();
    expect(await Promise.all([snapshot, snapshot, snapshot].map((each) => refusal(refusing, each)))).toEqual([
      'refused 1',
      'refused 2',
      null,
    ]);
    expect(await refusal(refusing, snapshot)).toBe('refused 3');
  });
});
