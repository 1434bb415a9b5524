import { mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { benchOpa } from '../bench/opa.js';
import { demo } from './demo.js';
import { GENERATORS } from './clients/generators.js';
import { FUZZER, SEED } from './fuzz/schemathesis.js';
import { writeChartReadme } from './chart/readme.js';
import { cacheFolder } from './parts/cache.js';
import { type ClientGenerators, installClientGenerators } from './parts/client-generators.js';
import { installChartTools } from './parts/chart-tools.js';
import { installImageNode } from './parts/image.js';
import { install, installForChart, installForRun, type RunningParts } from './parts/install.js';
import { installOpa } from './parts/opa.js';
import { installPostgres14 } from './parts/postgres14.js';
import { installSchemathesis } from './parts/schemathesis.js';
import { installScimTester } from './parts/scim-tester.js';
import { OPA } from './opa/opa-server.js';
import { duration, report, timed, withProgress } from './progress.js';
import { assertNothingLeft } from './running/leftover-processes.js';
import { Processes } from './running/processes.js';
import { SCIM_TESTER } from './scim/scim-tester.js';
import { STACK_FILE, startChartStack, startStack, type StartedStack } from './stack.js';
import { suite, suiteOnOtherVersions } from './suite.js';

const USAGE =
  'usage: run.ts suite|chart|clients|fuzz|opa|scim|image-node [jest argument…] | bench-opa [part…] | chart-readme | demo | install';
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

const ONE_INTERRUPTION_MS = 1_000;

/** What lets a change in or not must not hang on a draw: test:stack sends the same requests every time, test:fuzz ever new ones. */
const SUITE_SEED = '1';

/** @returns the exit code */
type Work = (processes: Processes, rest: readonly string[]) => Promise<number>;

const WORKS: Record<string, Work> = {
  install: async (processes) => {
    await install(processes, process.env);
    return 0;
  },
  suite: (processes, rest) =>
    withStack(processes, install, ({ file }, parts) => {
      const found = {
        [STACK_FILE]: file,
        [FUZZER]: parts.schemathesis,
        [SCIM_TESTER]: parts.scimTester,
        [OPA]: parts.opa,
        [GENERATORS]: JSON.stringify(parts.clientGenerators),
      };
      return suite(processes, { [SEED]: process.env[SEED] ?? SUITE_SEED, ...found }, rest);
    }),
  chart: async (processes, rest) => {
    const parts = await timed('installed', () => installForChart(processes, process.env));
    const file = await startChartStack(processes, parts);
    return suite(processes, { [STACK_FILE]: file }, ['test/stack/chart/', ...rest]);
  },
  'chart-readme': async (processes) => {
    const folder = await withProgress('helm-docs', () => installChartTools(processes, cacheFolder(process.env)));
    await writeChartReadme(folder);
    return 0;
  },
  clients: async (processes, rest) => {
    const install = (): Promise<ClientGenerators> => installClientGenerators(processes, cacheFolder(process.env));
    const generators = await withProgress('generators of clients', install);
    return suite(processes, { [GENERATORS]: JSON.stringify(generators) }, ['clients\\.stack-spec', ...rest]);
  },
  fuzz: async (processes, rest) => {
    const fuzzer = await withProgress('Schemathesis', () => installSchemathesis(processes, cacheFolder(process.env)));
    return suite(processes, { [FUZZER]: fuzzer }, ['fuzz\\.stack-spec', ...rest]);
  },
  opa: async (processes, rest) => {
    const opa = await withProgress('Open Policy Agent', () => installOpa(processes, cacheFolder(process.env)));
    return suite(processes, { [OPA]: opa }, ['opa(-loop)?\\.stack-spec', ...rest]);
  },
  'bench-opa': async (processes, rest) => {
    const opa = await withProgress('Open Policy Agent', () => installOpa(processes, cacheFolder(process.env)));
    process.env[OPA] = opa;
    return benchOpa(processes, rest);
  },
  scim: async (processes, rest) => {
    const tester = await withProgress('scim2-tester', () => installScimTester(processes, cacheFolder(process.env)));
    return suite(processes, { [SCIM_TESTER]: tester }, ['scim-tester\\.stack-spec', ...rest]);
  },
  'image-node': async (processes, rest) => {
    const cache = cacheFolder(process.env);
    const node = await withProgress("the image's Node", () => installImageNode(processes, cache));
    const postgres = await withProgress('PostgreSQL 14', () => installPostgres14(processes, cache));
    return suiteOnOtherVersions(processes, { node, postgres }, rest);
  },
  demo: (processes) => withStack(processes, installForRun, (started) => demo(processes, started)),
};

async function withStack<P extends RunningParts>(
  processes: Processes,
  needed: (processes: Processes, env: NodeJS.ProcessEnv) => Promise<P>,
  use: (started: StartedStack, parts: P) => Promise<number>,
): Promise<number> {
  const parts = await timed('installed', () => needed(processes, process.env));
  return use(await timed('started', () => startStack(processes, parts)), parts);
}

/** Does one work in a folder of its own and stops whatever that started, however it ends. @returns the exit code */
async function run(work: Work, rest: readonly string[]): Promise<number> {
  const began = performance.now();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'grantline-stack-')));
  const processes = new Processes(folder);
  report(`run folder: ${folder}`);
  let interruption: number | undefined;
  let interruptedAt = 0;
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      // npm sends the terminal's Ctrl-C on, so that one comes twice.
      if (interruption !== undefined && performance.now() - interruptedAt < ONE_INTERRUPTION_MS) return;
      if (interruption !== undefined) process.exit(exitCode); // asked again: the guard ends what still runs
      report(`${signal}: stopping`);
      interruption = exitCode;
      interruptedAt = performance.now();
      processes.stopAll().catch(() => undefined); // said below
    });
  }

  const worked = await work(processes, rest).catch((failure: unknown) => {
    if (interruption === undefined) report(describe(failure));
    return 1;
  });
  const outcome = await withProgress('stopped', () => processes.stopAll()).then(
    () => worked,
    (failure: unknown) => {
      report(describe(failure));
      return 1;
    },
  );
  await assertNothingLeft(folder);
  report(`${duration(performance.now() - began)} in all; no process is left`);
  const exitCode = interruption ?? outcome;
  if (outcome === 0 || interruption !== undefined) await rm(folder, { recursive: true, force: true });
  else report(`logs: ${join(folder, 'logs')}`);
  return exitCode;
}

/** Without stack traces: what failed, and what lay beneath it. */
function describe(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  return failure.cause === undefined ? failure.message : `${failure.message}\n  because: ${describe(failure.cause)}`;
}

const [name = '', ...rest] = process.argv.slice(2);
const work = WORKS[name];
if (work === undefined) {
  report(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = await run(work, rest);
}
