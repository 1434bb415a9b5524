import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { aBusyWorld, aWorldOfTwins } from '../support/busy-world.js';
import { plant, type PlantedFault } from '../support/planted-fault.js';
import { scaled, SIZES, skewedWorld } from '../support/skewed-world.js';
import { FAULTS_IN_PATTERNS_AND_SECTIONS } from './compiler-faults/patterns-and-sections.js';
import { FAULTS_IN_READING_GRANTS } from './compiler-faults/reading-grants.js';
import { FAULTS_IN_SHARING_RULES } from './compiler-faults/sharing-rules.js';
import { FAULTS_IN_STATES_OF_ACCESS } from './compiler-faults/states-of-access.js';
import { FAULTS_IN_WRITING_RULES } from './compiler-faults/writing-rules.js';

const FAULTS = {
  ...FAULTS_IN_READING_GRANTS,
  ...FAULTS_IN_WRITING_RULES,
  ...FAULTS_IN_SHARING_RULES,
  ...FAULTS_IN_STATES_OF_ACCESS,
  ...FAULTS_IN_PATTERNS_AND_SECTIONS,
};

describe('the proof, against a compiler with one fault', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-faults-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    cpSync('package.json', join(folder, 'package.json'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A copy of the pure code, with a fault or without one. */
  function copyOfTheCode(fault?: PlantedFault): string {
    const copy = mkdtempSync(join(folder, 'copy-'));
    for (const room of ['kernel', 'trino-rules'])
      cpSync(join('dist', room), join(copy, room), { recursive: true, filter: (path) => !path.endsWith('.map') });
    if (fault) plant(copy, fault);
    return copy;
  }

  it('finds nothing where there is none', async () => {
    expect(await told(copyOfTheCode())).toBe('');
  });

  it.each(Object.entries(FAULTS))('stops one that %s', async (_, fault) => {
    expect(await told(copyOfTheCode(fault), fault.found)).toMatch(fault.found);
  });
});

/**
 * Compiles each world with the code in `copy`, and checks what came out: everything that would stop a publication, up to the
 * world of which `enough` is found.
 */
async function told(copy: string, enough?: RegExp): Promise<string> {
  const worker = new Worker(IN_A_COPY, { eval: true, workerData: { copy, worlds: WORLDS, enough } });
  return new Promise((answer, fail) => worker.once('message', answer).once('error', fail));
}

const WORLDS = [aBusyWorld(), aWorldOfTwins(), skewedWorld(scaled(SIZES.enterprise, 0.04), 'real-like')];

const IN_A_COPY = `
  const { parentPort, workerData: { copy, worlds, enough } } = require('node:worker_threads');
  const load = (name) => import(copy + '/trino-rules/' + name + '.js');
  Promise.all(['compile/compile', 'verify/check'].map(load)).then(([{ compile }, { checkRules }]) => {
    let found = '';
    for (const world of worlds) {
      const findings = checkRules(compile(world).text, world).filter(({ severity }) => severity === 'error');
      found += findings.map(({ message }) => message + '\\n').join('');
      if (enough?.test(found)) break;
    }
    parentPort.postMessage(found);
  });
`;
