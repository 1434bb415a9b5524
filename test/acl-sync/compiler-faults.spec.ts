import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Finding } from '../../src/acl-sync/rules/finding.js';
import type { Snapshot } from '../../src/grants/domain/snapshot.js';
import { aWorld, NOW } from '../support/a-world.js';
import { plant, type PlantedFault } from '../support/planted-fault.js';
import { FAULTS_IN_READING_GRANTS } from './compiler-faults/reading-grants.js';
import { FAULTS_IN_WRITING_RULES } from './compiler-faults/writing-rules.js';

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
    for (const room of ['kernel', 'grants/domain', 'acl-sync/rules', 'acl-sync/compiler', 'acl-sync/proof'])
      cpSync(join('dist', room), join(copy, room), { recursive: true, filter: (path) => !path.endsWith('.map') });
    if (fault) plant(copy, fault);
    return copy;
  }

  it('finds nothing where there is none', async () => {
    expect(await proved(copyOfTheCode(), aBusyWorld())).toEqual([]);
  });

  it.each(Object.entries({ ...FAULTS_IN_READING_GRANTS, ...FAULTS_IN_WRITING_RULES }))(
    'stops one that %s',
    async (_, fault) => {
      const findings = await proved(copyOfTheCode(fault), aBusyWorld());

      expect([...new Set(findings.map(({ code }) => code))]).toEqual(['proof-difference']);
      expect(findings.map(({ message }) => message).join('\n')).toMatch(fault.found);
    },
  );
});

/** Compiles with the code in `copy`, and proves what came out: all that reading the text or the proof has to say. */
async function proved(copy: string, snapshot: Snapshot): Promise<Finding[]> {
  const worker = new Worker(IN_A_COPY, { eval: true, workerData: { copy, snapshot } });
  return new Promise((answer, fail) => worker.once('message', answer).once('error', fail));
}

const IN_A_COPY = `
  const { parentPort, workerData: { copy, snapshot } } = require('node:worker_threads');
  const load = (name) => import(copy + '/acl-sync/' + name + '.js');
  Promise.all(['compiler/compile', 'rules/rules-reader', 'proof/proof'].map(load)).then(([{ compile }, { readRules }, { proveRules }]) => {
    const reading = readRules(compile(snapshot).text);
    parentPort.postMessage(reading.kind === 'refused' ? reading.findings : proveRules(reading.document, snapshot));
  });
`;

/** Something of everything that the access model knows. */
function aBusyWorld(): Snapshot {
  const clerks = ['clerk', ...Array.from({ length: 14 }, (_, i) => `clerk${i + 1}`)];
  const ivy = { type: 'user', id: 1 } as const;
  const world = aWorld().with({
    serviceAccounts: ['service-account-grantline', 'service-account-etl'],
    sessionProperties: ['query_max_run_time'],
  });
  world.person('ivy').may('SELECT', 'hr.staff').person('nia');
  world.group('readers', ['ana', 'bo', 'eve.x', 'Zed', 'gus']).may('SELECT', 'sales.eu').deactivated('gus');
  world.group('writers', ['bo', 'cy']).may('INSERT', 'sales.eu.orders');
  world.person('rex').may('SELECT', 'sales.eu.orders', { revokedAt: NOW });
  world.person('lou').may('SELECT', 'sales.eu.orders', { expiresAt: NOW });
  world.person('dee').may('SELECT', 'sales.eu.orders', { expiresAt: new Date(NOW.getTime() + 1) });
  world.engine('bi-tool').may('SELECT', 'sales.eu.orders');
  world.everyone().seesOnly('sales.eu', "region = 'EU'").seesOnly('sales.eu.visits', "day > DATE '2026-01-01'");
  world.everyone().doesNotSee('sales.eu.payments', 'iban');

  world.person('fay').may('SELECT, INSERT, OWNERSHIP, GRANT_SELECT', 'hr').may('INSERT', 'hr.vault.keys');
  world.everyone().mayNot('hr.vault').mayNot('hr.staff.salaries', 'SELECT', ivy);
  world.everyone().doesNotSee('hr.staff', 'ssn').doesNotSee('hr.staff.people', 'iban');
  world.everyone().seesMasked('hr', 'name', "'***'").seesMasked('hr.staff.people', 'name', 'upper(name)');
  world.group('auditors', ['fay', 'ivy']).seesMasked('hr.staff', 'phone', "'+49'");
  world.group('interns', ['fay']).seesMasked('hr.staff', 'phone', 'NULL');

  world.group('clerks', clerks).may('SELECT', 'lake.raw');
  world.person('ana').may('SELECT', 'lake').everyone().mayNot('lake.secret');
  world.group('loaders', ['pam', 'quy', 'rob']).may('INSERT', 'lake.raw.t1').may('INSERT', 'lake.raw.t2');
  world.person('pam').may('INSERT', 'lake.raw.t3').person('sid').may('INSERT', 'lake.raw.t2');
  world.person('bo').may('SELECT', 'grantline.public');
  return world.snapshot();
}
