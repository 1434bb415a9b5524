import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { bundleArchive } from '../../src/trino-rules/opa/archive.js';
import { OpaServer } from '../stack/opa/opa-server.js';
import { report, withProgress } from '../stack/progress.js';
import type { Processes } from '../stack/running/processes.js';
import { type PluginQuestion, requestOf } from '../support/opa/plugin-question.js';
import { changeToLive } from './opa-live.js';
import type { Making } from './opa-making.js';
import { GRANTS, type Grants, questionsOf, worldOf } from './opa-world.js';
import { median, quantile } from './ratio.js';
import { textTable } from './text-table.js';

/** What a first trial measured, at 3,000, 30,000 and 100,000 grants: on a quiet machine with two cores. */
const TRIED = {
  'bundle, KiB': [67, 297, 760],
  'SELECT p50, ms': [0.62, 0.68, 0.73],
  'SELECT p99, ms': [4.1, 5.9, 3],
  'FilterTables of 1,000, ms': [54, 56, 34],
  'FilterTables of 20,000, ms': [1_722, 1_044, 778],
  'masks of 1,000 columns, ms': [26, 18, 17],
  'publication to live, ms': [95, 433, 420],
  'OPA loaded, MiB': [48, 91, 170],
  'OPA, most at the next version, MiB': [61, 147, 310],
} as const;
type Figures = Record<keyof typeof TRIED, number>;
const FACTOR = 1.5;
const MOST_LIVE_MS = new Map<Grants, number>([
  [30_000, 1_000],
  [100_000, 3_000],
]);

/**
 * npm run bench:opa [-- 3000 30000 100000 live]: what the bundle costs, and what OPA needs with it. Figures and what limits them:
 * docs/benchmarks.md.
 */
export async function benchOpa(processes: Processes, asked: readonly string[]): Promise<number> {
  const isAsked = (part: string) => asked.length === 0 || asked.includes(part);
  const sizes = GRANTS.filter((grants) => isAsked(String(grants)));
  const lines: string[][] = [['grants', 'what', 'is', 'target', '']];
  const add = (grants: number, what: string, is: number, most: number | null): void => {
    const digits = Math.max(is, most ?? 0) < 10 ? 2 : 0;
    const target = most === null ? [] : [`≤ ${most.toFixed(digits)}`, is <= most ? 'met' : 'MISSED'];
    lines.push([grants.toLocaleString('en'), what, is.toFixed(digits), ...target]);
  };
  for (const grants of sizes) {
    const data = join(processes.folder, `data-${grants}.json`);
    const making = await withProgress(`${grants} grants: made and proved`, () => measureMaking(grants, data));
    const made = making.data + making.json + making.archive;
    add(grants, 'data, ms of processor time', making.data, null);
    add(grants, 'JSON', making.json, null);
    add(grants, 'archive', making.archive, null);
    add(grants, 'proof', making.proof, null);
    add(grants, 'proof ÷ making', making.proof / made, FACTOR);
    add(grants, 'most memory of the maker, MiB', making.peakMiB, null);
    add(grants, 'data, MB', making.dataBytes / 1e6, null);
    const figures = await withProgress(`${grants} grants: OPA`, () => measureOpa(grants, readFileSync(data, 'utf8')));
    for (const [what, tried] of Object.entries(TRIED))
      add(grants, what, figures[what as keyof Figures], (tried[GRANTS.indexOf(grants)] ?? 0) * FACTOR);
  }
  for (const [grants, most] of isAsked('live') ? MOST_LIVE_MS : []) {
    const { times, peakMiB } = await withProgress(`${grants} grants: change to live`, () =>
      changeToLive(processes, grants),
    );
    report(`change to live: ${times.map((time) => `${Math.round(time)} ms`).join(', ')}`);
    add(grants, 'change to live through the service, ms', median(times), most);
    add(grants, 'most memory of the service, MiB', peakMiB, null);
  }
  console.log(textTable(lines));
  return 0;
}

/** In a process of its own, so that its peak memory is its own. */
async function measureMaking(grants: Grants, file: string): Promise<Making> {
  const args = [...process.execArgv, join(import.meta.dirname, 'opa-making.ts'), String(grants), file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  const [output, code] = await Promise.all([text(child.stdout), ended]);
  if (code !== 0) throw new Error(`the data of ${grants} grants could not be made and proved`);
  return JSON.parse(output) as Making;
}

async function measureOpa(grants: Grants, data: string): Promise<Figures> {
  const questions = questionsOf(worldOf(grants));
  const server = await OpaServer.start();
  const ask = async ({ entryPoint, ...question }: PluginQuestion): Promise<[number, unknown]> => {
    const body = requestOf({ entryPoint, ...question });
    const began = performance.now();
    const answer = await server.ask(`grantline/${entryPoint}`, body);
    return [performance.now() - began, answer];
  };
  const best = async (question: PluginQuestion): Promise<[number, unknown]> => {
    const asked = [await ask(question), await ask(question), await ask(question), await ask(question)];
    return [Math.min(...asked.map(([time]) => time)), asked[0]?.[1]];
  };
  try {
    const archive = bundleArchive(data, 'v1');
    await server.publish(archive, 'v1');
    const loaded = server.memory('VmRSS');
    const published: number[] = [];
    for (let version = 2; version < 7; version++) {
      const began = performance.now();
      await server.publish(bundleArchive(data, `v${version}`), `v${version}`);
      published.push(performance.now() - began);
    }
    const peak = server.memory('VmHWM');
    const times: number[] = [];
    const allowed = new Set<unknown>();
    for (const question of [...questions.reading.slice(0, 200), ...questions.reading, ...questions.reading]) {
      const [time, answer] = await ask(question);
      times.push(time);
      allowed.add(answer);
    }
    const [thousand, listed] = await best(questions.listing(1_000));
    const [all] = await best(questions.listing(20_000));
    const [masks, masked] = await best(questions.masks);
    if (allowed.size < 2 || (listed as unknown[]).length === 0 || (masked as unknown[]).length !== 100)
      throw new Error('OPA answers otherwise than the questions are meant');
    return {
      'bundle, KiB': archive.length / 1024,
      'SELECT p50, ms': median(times.slice(200)),
      'SELECT p99, ms': quantile(times.slice(200), 0.99),
      'FilterTables of 1,000, ms': thousand,
      'FilterTables of 20,000, ms': all,
      'masks of 1,000 columns, ms': masks,
      'publication to live, ms': median(published),
      'OPA loaded, MiB': loaded,
      'OPA, most at the next version, MiB': peak,
    };
  } finally {
    await server.stop();
  }
}
