import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { noteSecret, recordOutput } from './secrets.js';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The built executable (of the checkout, or of another folder), as a process. Its environment is what is given, and PATH. */
export class GrantlineProcess {
  private output = '';
  private readonly child: ChildProcess;
  readonly finished: Promise<Finished>;

  constructor(
    args: readonly string[],
    environment: Record<string, string>,
    { input = '', folder = '.' }: { input?: string; folder?: string } = {},
  ) {
    const child = spawn(process.execPath, [resolve(folder, 'dist/main.js'), ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', LOG_FORMAT: 'json', ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child = child;
    child.stdin.end(input);
    if (args.includes('create-admin')) noteSecret(input.trimEnd());
    recordOutput(`grantline ${args.join(' ')}`, environment, () => this.output);
    let stderr = '';
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      this.output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
      this.output += chunk.toString();
    });
    this.finished = new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })));
  }

  /** Waits for a line that matches. @throws Error with the output when the process ends, or two minutes pass, without it. */
  async untilOutput(pattern: RegExp): Promise<RegExpExecArray> {
    const ended = this.finished.then(() => true);
    const deadline = performance.now() + 120_000;
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      const over = await Promise.race([ended, new Promise<false>((go) => setTimeout(() => go(false), 50))]);
      if ((over && pattern.exec(this.output) === null) || performance.now() > deadline) {
        throw new Error(`no output matches ${String(pattern)}:\n${this.output}`);
      }
    }
  }

  /** The API's address, once the service listens. */
  async url(): Promise<string> {
    const [, url] = await this.untilOutput(/listening on (http:\/\/[^"\s]+)/);
    return (url ?? '').replace('localhost', '127.0.0.1');
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the process was not started');
    return this.child.pid;
  }

  /** What comes stays in the kernel's buffer, and then with the process. */
  stopReadingOutput(): this {
    this.child.stdout?.pause();
    return this;
  }

  /** The exit code, also where its output is not read. */
  async exited(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, 'exit');
    return this.child.exitCode;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }
}

/** One command to its end. */
export function runGrantline(
  args: readonly string[],
  environment: Record<string, string>,
  input = '',
): Promise<Finished> {
  return new GrantlineProcess(args, environment, { input }).finished;
}

/** The standard error of a command on a database: which one that is, progress where it takes long, and these lines. */
export function remarks(...lines: string[]): string {
  const own = lines.map((line) => `${line}\n`).join('');
  return expect.stringMatching(new RegExp(`^database: \\S+\n(?:[^\n]+: \\d+ s\n)*${own}$`)) as string;
}
