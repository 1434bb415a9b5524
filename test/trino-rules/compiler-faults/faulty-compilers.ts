import { once } from 'node:events';
import { cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  snapshotOfActing,
  snapshotOfDoors,
  snapshotOfEveryFeature,
  snapshotOfEverything,
  snapshotOfMaintainers,
  snapshotOfQueries,
  snapshotOfRights,
  snapshotOfRoutines,
  snapshotOfOwners,
  snapshotOfSimilarTables,
  snapshotOfSystem,
} from '../../support/snapshots/rich-snapshots.js';
import { shareOf } from '../../support/landing.js';
import { plant, type PlantedFault } from '../../support/rules/planted-fault.js';
import { scaled, SIZES, skewedSnapshot } from '../../support/snapshots/skewed-snapshot.js';

/** Tests that the check finds each of these faults of the compiler, by the name of the fault; at a landing a share of them. */
export function stopsEach(faults: Record<string, PlantedFault>): void {
  describe('the proof, against a compiler with one fault', () => {
    const compilers = sharedCompilers();

    it.each(shareOf(Object.entries(faults)))('stops one that %s', async (_, fault) => {
      expect(await compilers().findings(fault)).toMatch(fault.found);
    });
  });
}

/** Tests that it finds nothing where there is none. */
export function stopsNothingElse(): void {
  describe('the proof, against a compiler without a fault', () => {
    const compilers = sharedCompilers();

    it('finds nothing', async () => {
      expect(await compilers().findings()).toBe('');
    });
  });
}

/** Of a describe block, once its tests begin. */
function sharedCompilers(): () => FaultyCompilers {
  let compilers: FaultyCompilers;
  beforeAll(() => void (compilers = new FaultyCompilers()));
  afterAll(() => compilers.close());
  return () => compilers;
}

const SNAPSHOTS = [
  snapshotOfEveryFeature(),
  snapshotOfSimilarTables(),
  snapshotOfRoutines(),
  snapshotOfEverything(),
  snapshotOfOwners(),
  snapshotOfRights(),
  snapshotOfQueries(),
  snapshotOfActing(),
  snapshotOfSystem(),
  snapshotOfDoors(),
  snapshotOfMaintainers(),
  skewedSnapshot(scaled(SIZES.enterprise, 0.04), 'real-like'),
];

/** The folder of the library in which all faults are: nothing beside it imports it. */
const COMPILER = 'compile';

/** Copies of the built compiler, each with a fault of its own, in one thread: whatever else they import is loaded once, the check too. */
class FaultyCompilers {
  private readonly folder = mkdtempSync(join(tmpdir(), 'grantline-faults-'));
  /** As `dist/trino-rules` is, and in it one folder for each copy. */
  private readonly library = join(this.folder, 'trino-rules');
  private readonly worker = new Worker(PROGRAM, {
    eval: true,
    workerData: { library: this.library, snapshots: SNAPSHOTS },
  });

  constructor() {
    symlinkSync(resolve('node_modules'), join(this.folder, 'node_modules'));
    cpSync('package.json', join(this.folder, 'package.json'));
    symlinkSync(resolve('dist/kernel'), join(this.folder, 'kernel'));
    mkdirSync(this.library);
    for (const name of readdirSync('dist/trino-rules'))
      if (name !== COMPILER) symlinkSync(resolve('dist/trino-rules', name), join(this.library, name));
    cpSync(join('dist/trino-rules', COMPILER), join(this.library, COMPILER), {
      recursive: true,
      filter: (path) => !/\.(map|d\.ts)$/.test(path),
    });
  }

  /**
   * Compiles each snapshot with a copy of the compiler, and checks what came out: everything that would stop a publication, up to
   * the snapshot in which the fault is found. It begins with the one that showed the fault before: those of a suite are alike.
   */
  async findings(fault?: PlantedFault): Promise<string> {
    const copy = this.copy();
    if (fault) plant(copy, { ...fault, file: relative(join('trino-rules', COMPILER), fault.file) });
    this.worker.postMessage({ copy, enough: fault?.found });
    const [answer] = (await once(this.worker, 'message')) as [{ findings: string } | { error: Error }];
    if ('error' in answer) throw answer.error;
    return answer.findings;
  }

  async close(): Promise<void> {
    await this.worker.terminate();
    rmSync(this.folder, { recursive: true });
  }

  /** Of links: `plant` replaces the one file that it changes. */
  private copy(): string {
    const copy = mkdtempSync(join(this.library, 'copy-'));
    const original = join(this.library, COMPILER);
    for (const file of readdirSync(original)) linkSync(join(original, file), join(copy, file));
    return copy;
  }
}

const PROGRAM = `
  const { parentPort, workerData: { library, snapshots } } = require('node:worker_threads');
  let latest = 0;
  const findings = async ({ copy, enough }) => {
    const [{ compile }, { checkRules }] = await Promise.all([
      import(copy + '/compile.js'),
      import(library + '/verify/check.js'),
    ]);
    let found = '';
    for (const at of new Set([latest, ...snapshots.keys()])) {
      const snapshot = snapshots[at];
      const errors = checkRules(compile(snapshot).text, snapshot).filter(({ severity }) => severity === 'error');
      found += errors.map(({ message }) => message + '\\n').join('');
      if (!enough?.test(found)) continue;
      latest = at;
      break;
    }
    return found;
  };
  parentPort.on('message', (task) => {
    findings(task).then(
      (findings) => parentPort.postMessage({ findings }),
      (error) => parentPort.postMessage({ error }),
    );
  });
`;
