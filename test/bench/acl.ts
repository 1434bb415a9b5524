import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, summed } from '../stack/progress.js';
import { Processes } from '../stack/running/processes.js';
import { documentTable, engineTable, type WorldFigures } from './acl-report.js';
import { targets } from './acl-targets.js';
import { worldName, type Way, type World } from './acl-world.js';
import type { Question } from '../support/engine-question.js';
import { EngineBench, type EngineFigures } from './engine.js';
import { measureApart, type Measured } from './measuring.js';
import { publications } from './publishing.js';
import type { Questions } from './questions.js';
import { trapTable } from './traps.js';

/**
 * npm run bench:acl [-- team enterprise growth traps extreme]: what compiled rules cost, here and in the engine, against what they
 * would cost otherwise. Worlds are generated, skewed and repeatable; each measurement has a process of its own.
 */
const NAMES = ['numbered', 'real-like'] as const;
const RULE_MAKERS: readonly Way[] = ['ours', 'names in full', 'person by person'];
const GROWTH = [2, 4];
/** Goes all the way into a file, and is refused for a ConfigMap. */
const LARGEST: World = { size: 'extreme', factor: 1, names: 'numbered' };
const parts = process.argv.slice(2);
const asked = (part: string) => parts.length === 0 || parts.includes(part);

const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
const processes = new Processes(folder);
try {
  const engine = await engineBench();
  const worlds: WorldFigures[] = [];
  for (const [size, factor] of [
    ['team', 1],
    ['enterprise', 0.3],
    ['enterprise', 1],
    ['extreme', 1],
  ] as const) {
    if (!asked(size)) continue;
    for (const names of NAMES) {
      const figures = await measureWorld({ size, factor, names }, engine);
      worlds.push(figures);
      say(`\n${documentTable([figures])}\n${engineTable([figures])}\n`);
    }
  }
  const growth: [World, Measured][] = [];
  for (const names of asked('growth') ? NAMES : []) {
    for (const factor of [1, ...GROWTH]) {
      const world: World = { size: 'enterprise', factor, names };
      const known = worlds.find((each) => worldName(each.world) === worldName(world))?.ways.ours?.measured;
      growth.push([world, known ?? (await measured(world, 'ours'))]);
    }
  }
  if (asked('traps')) console.log(`\n${await trapTable()}`);
  console.log(`\n${documentTable(worlds)}\n\n${engineTable(worlds)}\n\n${targets(worlds, growth)}`);
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
    say(`the engine is not measured: ${failure instanceof Error ? failure.message : String(failure)}`);
    return null;
  }
}

async function measureWorld(world: World, engine: EngineBench | null): Promise<WorldFigures> {
  const figures: WorldFigures = {
    world,
    ways: {},
    floor: await measured(world, 'floor'),
    proof: { questions: 0, perSecond: null },
  };
  let answers: string | null = null;
  for (const way of RULE_MAKERS) {
    const rules = await measured(world, way);
    const made = rules.compileMs !== undefined;
    const { everyday, proof, count } = readQuestions();
    const ask = (what: string, questions: readonly Question[]) =>
      made && engine
        ? summed(`${worldName(world)}, ${way}, ${what} in the engine`, () => engine.measure(folder, way, questions))
        : null;
    const everydayFigures = await ask('everyday questions', everyday);
    figures.ways[way] = { measured: rules, engine: everydayFigures };
    if (isFigures(everydayFigures)) {
      const same = JSON.stringify(everydayFigures.answers);
      answers ??= same;
      if (same !== answers) throw new Error(`${worldName(world)}: the engine answers otherwise with ${way}`);
    }
    if (way !== 'ours') continue;
    const asProved = await ask("the proof's questions", proof);
    figures.proof = { questions: count, perSecond: isFigures(asProved) ? asProved.decisionsPerSecond : null };
  }
  return figures;
}

function isFigures(figures: EngineFigures | string | null): figures is EngineFigures {
  return typeof figures === 'object' && figures !== null;
}

function measured(world: World, way: Way): Promise<Measured> {
  return summed(`${worldName(world)}, ${way}`, () => measureApart(world, way, folder));
}

function readQuestions(): Questions {
  return JSON.parse(readFileSync(join(folder, 'questions.json'), 'utf8')) as Questions;
}
