import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { rulesText } from '../../src/trino-rules/compile/rules-text.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { snapshotOf, type Variant, type Workload } from './workload.js';
import { lowerBound } from './lower-bound.js';
import { cpuMs, judge } from './judging.js';
import type { Measured, Warm } from './measuring.js';
import { MANY_RULES, namesInFull, personByPerson, sizeOf } from './baselines.js';
import { everydayQuestions, proofQuestions, type Questions } from './questions.js';
import { median } from './ratio.js';

/** What takes longer at first is not the virtual machine's warming up. */
const SHORT_MS = 5_000;
const AGAIN = 7;

/**
 * One measurement, in a process of its own so that its peak memory is its own: `acl-measure.ts WORKLOAD VARIANT FOLDER`, the workload
 * as JSON. Leaves the document in the folder, and beside ours the questions for the engine; prints a line of JSON.
 */
const [workload = '', variant = '', folder = '.'] = process.argv.slice(2);
const snapshot = snapshotOf(JSON.parse(workload) as Workload);
const figures = measured(snapshot, variant as Variant);
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ ...figures, peakMiB, warm: variant === 'ours' ? warm(snapshot, figures) : null }));

function measured(snapshot: Snapshot, variant: Variant): Partial<Measured> {
  if (variant === 'lower bound') return lowerBound(snapshot);
  const size = variant === 'person by person' ? sizeOf(snapshot) : null;
  // No computer of ours holds it: its size is counted, and nothing else.
  if (size !== null && size.rules > MANY_RULES) return size;
  const began = cpuMs();
  const text = documentText(snapshot, variant);
  const compileMs = cpuMs() - began;
  const { rules, engine, ...stages } = judge(text, snapshot);
  const totalMs = cpuMs() - began;
  writeFileSync(join(folder, `${variant}.json`), text);
  const bytes = Buffer.byteLength(text);
  const all = { rules: rules.tables.length, bytes, compileMs, ...stages, totalMs };
  if (variant !== 'ours') return all;
  const questions: Questions = { everyday: everydayQuestions(snapshot), ...proofQuestions(engine, snapshot) };
  writeFileSync(join(folder, 'questions.json'), JSON.stringify(questions));
  return { ...all, gzip: gzipSync(text).length, people: engine.universe.count };
}

/** The median of further times in the same process, as in a service that does it every five minutes; null where the first one is like them. */
function warm(snapshot: Snapshot, { totalMs = 0 }: Partial<Measured>): Warm | null {
  if (totalMs > SHORT_MS) return null;
  const times = Array.from({ length: AGAIN }, (): Warm => {
    const began = cpuMs();
    const text = compile(snapshot).text;
    const compileMs = cpuMs() - began;
    return { compileMs, proveMs: judge(text, snapshot).proveMs };
  });
  return { compileMs: median(times.map((time) => time.compileMs)), proveMs: median(times.map((time) => time.proveMs)) };
}

function documentText(snapshot: Snapshot, variant: Exclude<Variant, 'lower bound'>): string {
  switch (variant) {
    case 'ours':
      return compile(snapshot).text;
    case 'names in full':
      return rulesText(namesInFull(snapshot));
    case 'person by person':
      return rulesText(personByPerson(snapshot));
  }
}
