import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROBE = fileURLToPath(new URL('./heap-probe.js', import.meta.url));

/** A server in a process of its own, with its processor time and its heap. */
export class MeasuredProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    /** Of health and metrics; 0: a program without them. */
    readonly operationsPort: number,
  ) {}

  /** @param node another Node than this one's */
  static async start(
    program: string,
    args: string[],
    environment: Record<string, string>,
    node = process.execPath,
  ): Promise<MeasuredProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'grantline-measured-'));
    const file = join(folder, 'output');
    const output = openSync(file, 'w'); // a pipe would make its lines wait for this process
    const child = fork(program, args, {
      execPath: node,
      execArgv: ['--expose-gc', '--import', PROBE, ...(program.endsWith('.ts') ? ['--import', 'tsx'] : [])],
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...environment },
      stdio: ['ignore', output, 'inherit', 'ipc'],
    });
    closeSync(output);
    child.once('exit', () => rmSync(folder, { recursive: true }));
    for (;;) {
      await pause(50);
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      const line = /^.*listening on http:.*$/m.exec(readFileSync(file, 'utf8'))?.[0];
      if (line === undefined) continue;
      const port = portIn(line, /listening on http:\/\/[^:"\s]+:(\d+)/);
      return new MeasuredProcess(child, port, portIn(line, /"operations":"[^"]+:(\d+)"/));
    }
  }

  /** Seconds of processor time so far, all threads together (Linux counts in hundredths). */
  cpuSeconds(): number {
    const fields =
      readFileSync(`/proc/${String(this.child.pid)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** Milliseconds of processor time so far, of the thread that answers. */
  threadMilliseconds(): number {
    return Number(readFileSync(`/proc/${String(this.child.pid)}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  }

  /** The bytes of memory that it has. */
  residentBytes(): number {
    return this.memory('VmRSS');
  }

  /** The most bytes of memory that it has had so far. */
  peakBytes(): number {
    return this.memory('VmHWM');
  }

  private memory(field: string): number {
    const status = readFileSync(`/proc/${String(this.child.pid)}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? NaN) * 1024;
  }

  /** Bytes after a collection. */
  heap(): Promise<number> {
    return new Promise((resolve) => {
      this.child.once('message', (message) => resolve((message as { heap: number }).heap));
      this.child.send('heap');
    });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await ended;
  }
}

function portIn(line: string, pattern: RegExp): number {
  return Number(pattern.exec(line)?.[1] ?? 0);
}
