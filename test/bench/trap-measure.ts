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
const { rules, readMs, proveMs, deadMs } = judge(text, snapshot);
const totalMs = cpuMs() - began;
const measured: MeasuredTrap = {
  input: inputOf(snapshot),
  rules: rules.tables.length,
  bytes: Buffer.byteLength(text),
  compileMs,
  proveMs: readMs + proveMs + deadMs,
  totalMs,
  peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
};
console.log(JSON.stringify(measured));
