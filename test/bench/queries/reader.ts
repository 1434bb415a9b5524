import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** What reading one result took, in milliseconds. */
export interface Read {
  rows: number;
  first: number;
  all: number;
}

/** A client in a process of its own, that reads the results of statements one after the other (commands.ts). */
export class Reader {
  private readonly answers: AsyncIterator<string>;
  private readonly ended: Promise<unknown>;

  constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    if (child.stdout === null) throw new Error('the client has no output');
    this.answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => child.once('exit', resolve));
  }

  static start(name: string, command: string, args: readonly string[]): Reader {
    return new Reader(name, spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  static program(name: string, program: string, ...args: string[]): Reader {
    return Reader.start(name, process.execPath, ['--import', 'tsx', `${import.meta.dirname}/${program}`, ...args]);
  }

  async read(sql: string): Promise<Read> {
    this.child.stdin?.write(`${sql}\n`);
    const answer = await this.answers.next();
    if (answer.done === true) throw new Error(`${this.name} has ended`);
    return JSON.parse(answer.value) as Read;
  }

  cpuSeconds(): number {
    return cpuSeconds(this.child.pid);
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    await this.ended;
  }
}

/** Seconds of processor time of a process so far (Linux counts in hundredths). */
function cpuSeconds(pid: number | undefined): number {
  const fields =
    readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
