import { BudgetExceeded } from '../../src/trino-rules/document/work-budget.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { cpuMs, judge } from './judging.js';
import { inputOf, TRAPS, type Trap } from './trap-snapshots.js';
import type { MeasuredTrap } from './traps.js';

/** One trap in a process of its own: `trap-measure.ts TRAP TIMES`; prints a line of JSON. */
const [trap = '', times = '1'] = process.argv.slice(2);
const snapshot = TRAPS[trap as Trap](Number(times));
const began = cpuMs();
const { text } = compile(snapshot);
const compileMs = cpuMs() - began;
const isDecided = isJudged();
const totalMs = cpuMs() - began;
const measured: MeasuredTrap = {
  input: inputOf(snapshot),
  isDecided,
  rules: (JSON.parse(text) as { tables: unknown[] }).tables.length,
  bytes: Buffer.byteLength(text),
  compileMs,
  proveMs: totalMs - compileMs,
  totalMs,
  peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
};
console.log(JSON.stringify(measured));

/** @throws Error unless the rules are right, as far as they are judged */
function isJudged(): boolean {
  try {
    judge(text, snapshot);
    return true;
  } catch (error) {
    if (error instanceof BudgetExceeded) return false;
    throw error;
  }
}
