import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { report, timed } from '../stack/progress.js';
import { Processes } from '../stack/running/processes.js';
import { accessAnswers } from './access-answers.js';
import { guaranteeRatios } from './acl-guarantees.js';
import { documentTable, engineTable, type WorkloadFigures } from './acl-report.js';
import { targets } from './acl-targets.js';
import { workloadName, type Variant, type Workload } from './workload.js';
import type { Question } from '../support/rules/engine-question.js';
import { EngineBench, type EngineFigures } from './engine.js';
import { idleRuns } from './idle-runs.js';
import { measureInProcess, type Measured } from './measuring.js';
import { publications } from './publishing.js';
import type { Questions } from './questions.js';
import { trapTable } from './traps.js';

/**
 * npm run bench:acl [-- team enterprise growth traps extreme idle guarantees answers]: what compiled rules cost, here and in the engine, against what they
 * would cost otherwise. Workloads are generated, skewed and repeatable; each measurement has a process of its own.
 */
const NAMES = ['numbered', 'real-like'] as const;
const RULE_MAKERS: readonly Variant[] = ['ours', 'names in full', 'person by person'];
const GROWTH = [2, 4];
/** Goes all the variant into a file, and is refused for a ConfigMap. */
const LARGEST: Workload = { size: 'extreme', factor: 1, names: 'numbered' };
const parts = process.argv.slice(2);
const asked = (part: string) => parts.length === 0 || parts.includes(part);

const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
const processes = new Processes(folder);
try {
  const engine = await engineBench();
  const workloads: WorkloadFigures[] = [];
  for (const [size, factor] of [
    ['team', 1],
    ['enterprise', 0.3],
    ['enterprise', 1],
    ['extreme', 1],
  ] as const) {
    if (!asked(size)) continue;
    for (const names of NAMES) {
      const figures = await measureWorkload({ size, factor, names }, engine);
      workloads.push(figures);
      report(`\n${documentTable([figures])}\n${engineTable([figures])}\n`);
    }
  }
  const growth: [Workload, Measured][] = [];
  for (const names of asked('growth') ? NAMES : []) {
    for (const factor of [1, ...GROWTH]) {
      const workload: Workload = { size: 'enterprise', factor, names };
      const known = workloads.find((each) => workloadName(each.workload) === workloadName(workload))?.variants.ours
        ?.measured;
      growth.push([workload, known ?? (await measured(workload, 'ours'))]);
    }
  }
  if (asked('traps')) console.log(`\n${await trapTable()}`);
  console.log(`\n${documentTable(workloads)}\n\n${engineTable(workloads)}\n\n${targets(workloads, growth)}`);
  for (const size of asked('idle') ? (['enterprise', 'extreme'] as const) : []) {
    console.log(`\n${await idleRuns(folder, { size, factor: 1, names: 'numbered' })}`);
  }
  if (asked('guarantees')) console.log(`\n${guaranteeRatios({ size: 'enterprise', factor: 1, names: 'numbered' })}`);
  if (asked('answers')) {
    console.log(`\n${await accessAnswers(folder, { size: 'enterprise', factor: 1, names: 'numbered' })}`);
  }
  if (asked('extreme')) console.log(`\n${(await publications(folder, LARGEST)).join('\n')}`);
} finally {
  await processes.stopAll();
  rmSync(folder, { recursive: true, force: true });
}

/** Null where the engine's classes cannot be had: the rest is measured all the same. */
async function engineBench(): Promise<EngineBench | null> {
  try {
    return await EngineBench.install(processes);
  } catch (failure) {
    report(`the engine is not measured: ${failure instanceof Error ? failure.message : String(failure)}`);
    return null;
  }
}

async function measureWorkload(workload: Workload, engine: EngineBench | null): Promise<WorkloadFigures> {
  const figures: WorkloadFigures = {
    workload,
    variants: {},
    lowerBound: await measured(workload, 'lower bound'),
    proof: { questions: 0, perSecond: null },
  };
  let answers: string | null = null;
  for (const variant of RULE_MAKERS) {
    const rules = await measured(workload, variant);
    const made = rules.compileMs !== undefined;
    const { everyday, proof, count } = readQuestions();
    const ask = (what: string, questions: readonly Question[]) =>
      made && engine
        ? timed(`${workloadName(workload)}, ${variant}, ${what} in the engine`, () =>
            engine.measure(folder, variant, questions),
          )
        : null;
    const everydayFigures = await ask('everyday questions', everyday);
    figures.variants[variant] = { measured: rules, engine: everydayFigures };
    if (isFigures(everydayFigures)) {
      const same = JSON.stringify(everydayFigures.answers);
      answers ??= same;
      if (same !== answers) throw new Error(`${workloadName(workload)}: the engine answers otherwise with ${variant}`);
    }
    if (variant !== 'ours') continue;
    const asProved = await ask("the proof's questions", proof);
    figures.proof = { questions: count, perSecond: isFigures(asProved) ? asProved.decisionsPerSecond : null };
  }
  return figures;
}

function isFigures(figures: EngineFigures | string | null): figures is EngineFigures {
  return typeof figures === 'object' && figures !== null;
}

function measured(workload: Workload, variant: Variant): Promise<Measured> {
  return timed(`${workloadName(workload)}, ${variant}`, () => measureInProcess(workload, variant, folder));
}

function readQuestions(): Questions {
  return JSON.parse(readFileSync(join(folder, 'questions.json'), 'utf8')) as Questions;
}
