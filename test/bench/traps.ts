import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { timed } from '../stack/progress.js';
import { textTable } from './text-table.js';
import { TRAPS, type Trap } from './trap-snapshots.js';

/** Milliseconds of processor time. */
export interface MeasuredTrap {
  /** See `inputOf`. */
  input: number;
  /** Whether the proof came to an end; else the rules are refused as too intricate, and what they cost until then is counted. */
  isDecided: boolean;
  rules: number;
  bytes: number;
  compileMs: number;
  /** Reading and dead rules included. */
  proveMs: number;
  totalMs: number;
  peakMiB: number;
}

const TOTAL_MS = 10_000;
const PEAK_MIB = 512;
const GROWS_AT_MOST = 1.3;

/** Each trap once, within the limits, and doubled, within the growth; each time in a process of its own. */
export async function trapTable(): Promise<string> {
  const lines: string[][] = [];
  for (const trap of Object.keys(TRAPS) as Trap[]) {
    const once = await timed(trap, () => measureTrap(trap, 1));
    const twice = await timed(`${trap}, doubled`, () => measureTrap(trap, 2));
    const end = [once, twice].every(({ isDecided }) => isDecided) ? '' : ', refused';
    const growth = twice.totalMs / once.totalMs / (twice.input / once.input);
    const isMet = once.totalMs <= TOTAL_MS && once.peakMiB < PEAK_MIB;
    const verdict = isMet && growth <= GROWS_AT_MOST ? 'met' : 'MISSED';
    lines.push([trap, ...cells(once), '', ''], ['doubled', ...cells(twice), growth.toFixed(2), `${verdict}${end}`]);
  }
  const heading = ['trap', 'input', 'table rules', 'KiB', 'compile s', 'prove s', 'total s', 'peak MiB'];
  return textTable([[...heading, 'time ÷ input', ''], ...lines]);
}

function cells({ input, rules, bytes, compileMs, proveMs, totalMs, peakMiB }: MeasuredTrap): string[] {
  const counts = [input, rules, bytes / 1024].map((count) => Math.round(count).toLocaleString('en-GB'));
  return [...counts, ...[compileMs, proveMs, totalMs].map((ms) => (ms / 1_000).toFixed(1)), String(peakMiB)];
}

async function measureTrap(trap: Trap, times: number): Promise<MeasuredTrap> {
  const script = join(import.meta.dirname, 'trap-measure.ts');
  const child = spawn(process.execPath, [...process.execArgv, script, trap, String(times)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  const [out, complaints, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`${trap}: ${complaints.slice(-2_000)}`);
  return JSON.parse(out) as MeasuredTrap;
}
