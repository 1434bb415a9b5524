import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

  static async start(program: string, args: string[], environment: Record<string, string>): Promise<MeasuredProcess> {
    const child = fork(program, args, {
      execArgv: ['--expose-gc', '--import', PROBE],
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const [port, operations] = await new Promise<[number, number]>((resolve, reject) => {
      let output = '';
      let line: string | null = null;
      child.stdout?.on('data', (chunk: Buffer) => {
        if (line !== null) return; // only taken away, as a log collector does
        output += chunk.toString();
        line = /^.*listening on http:.*$/m.exec(output)?.[0] ?? null;
        if (line === null) return;
        resolve([portIn(line, /listening on http:\/\/[^:"\s]+:(\d+)/), portIn(line, /"operations":"[^"]+:(\d+)"/)]);
      });
      child.on('exit', (code) => reject(new Error(`${program} ended with ${String(code)}\n${output}`)));
    });
    return new MeasuredProcess(child, port, operations);
  }

  /** Seconds of processor time so far, all threads together (Linux counts in hundredths). */
  cpuSeconds(): number {
    const fields =
      readFileSync(`/proc/${String(this.child.pid)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
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
