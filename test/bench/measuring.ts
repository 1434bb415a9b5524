import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { workloadName, type Variant, type Workload } from './workload.js';

/** Milliseconds of CPU time; where rules are too many to be made, only their size is known. */
export interface Measured {
  rules?: number;
  bytes: number;
  compileMs?: number;
  readMs?: number;
  proveMs?: number;
  deadMs?: number;
  totalMs?: number;
  peakMiB: number;
  gzip?: number;
  /** How many people a rule has to name at least, over all rules. */
  named?: number;
  people?: number;
  /** Null: not measured again. */
  warm?: Warm | null;
}

/** What it takes once the virtual machine has compiled the code that is used most. */
export interface Warm {
  compileMs: number;
  proveMs: number;
}

/** One measurement in a process of its own. Rules with names in full of the largest workload need more than the usual heap. */
export async function measureInProcess(workload: Workload, variant: Variant, folder: string): Promise<Measured> {
  const script = join(import.meta.dirname, 'acl-measure.ts');
  const heap = variant === 'ours' ? [] : ['--max-old-space-size=8192'];
  const args = [...process.execArgv, ...heap, script, JSON.stringify(workload), variant, folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  const [out, complaints, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`${workloadName(workload)}, ${variant}: ${complaints.slice(-2_000)}`);
  return JSON.parse(out) as Measured;
}
