import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { assertNoLoggedTokens } from '../../support/service/logged-tokens.js';
import { startGuard, type Guard } from './guard.js';
import { Hopeless } from './until.js';

/** In the environment of everything that a run starts, however deep: by it leftover processes are found. */
export const RUN_MARK = 'GRANTLINE_STACK_RUN';

const TAIL_LINES = 25;
const STOP_TIMEOUT_MS = 20_000;

export interface Program {
  /** Also the name of its log. */
  name: string;
  command: string;
  args: readonly string[];
  env?: Record<string, string>;
  /** Its environment is `env` and nothing of ours but where programs and the home folder are. */
  ownEnvironment?: boolean;
  cwd?: string;
  /** Given to its standard input, which is closed then. */
  input?: string;
  /** Writes where we write, and not into a log. */
  atTerminal?: boolean;
}

export interface End {
  /** Undefined if a signal ended it, or if it could not be started. */
  exitCode: number | undefined;
  /** The same in words. */
  how: string;
}

export interface Running {
  readonly pid: number;
  readonly log: string;
  /** Never rejects. */
  readonly ended: Promise<End>;
  /** Throws when it has ended, with the end of its log: waiting for it makes no sense then. */
  assertAlive(): void;
  stop(): Promise<void>;
}

/**
 * The processes of one run. Each leads a process group of its own: out of reach of the terminal's Ctrl-C, and stopped
 * together with whatever it started. Should this process be killed outright, a guard stops them instead.
 */
export class Processes {
  private readonly groups = new Map<number, Running>();
  private readonly guard: Guard = startGuard();
  private readonly closing = new AbortController();

  constructor(readonly folder: string) {
    mkdirSync(join(folder, 'logs'), { recursive: true });
  }

  /** Aborted when the run is to end. */
  get ending(): AbortSignal {
    return this.closing.signal;
  }

  launch(program: Program): Running {
    if (this.closing.signal.aborted)
      throw new Hopeless(`${program.name} is not started any more: the run is being stopped`);
    const log = join(this.folder, 'logs', `${program.name}.log`);
    const file = openSync(log, 'a');
    const output = program.atTerminal === true ? 'inherit' : file;
    const child = spawn(program.command, program.args, {
      detached: true,
      stdio: [program.input === undefined ? 'ignore' : 'pipe', output, output],
      env: this.environmentOf(program),
      cwd: program.cwd,
    });
    closeSync(file);
    const ending = endOf(child, program);
    if (child.pid === undefined) throw new Error(`${program.name} could not be started: ${program.command}`);
    child.stdin?.end(program.input);
    const running = this.watch(program.name, child.pid, log, ending);
    this.groups.set(child.pid, running);
    this.guard.watch(child.pid);
    return running;
  }

  /** Runs a program to its end. @returns what it wrote. @throws unless it ends with exit code 0 */
  async complete(program: Program): Promise<string> {
    const running = this.launch(program);
    const { exitCode, how } = await running.ended;
    if (exitCode !== 0) throw new Error(`${program.name}: ${how}\n${tail(running.log)}`);
    return readFileSync(running.log, 'utf8');
  }

  /**
   * Stops everything for good, the latest first: what was started earlier is needed by what came later.
   * @throws where a log holds an API token, whichever of the programs wrote it
   */
  async stopAll(): Promise<void> {
    this.closing.abort();
    for (const running of [...this.groups.values()].reverse()) await running.stop();
    this.guard.dismiss();
    assertNoLoggedTokens(this.folder);
  }

  /** Pieces of work side by side. When one fails the others are made to fail too, so that afterwards nothing is under way. */
  async together<const W extends readonly Promise<unknown>[]>(
    ...work: W
  ): Promise<{ -readonly [I in keyof W]: Awaited<W[I]> }> {
    try {
      return await Promise.all(work);
    } catch (failure) {
      await this.stopAll();
      await Promise.allSettled(work);
      throw failure;
    }
  }

  private environmentOf({ env, ownEnvironment }: Program): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    const inherited = ownEnvironment === true ? { PATH, HOME } : process.env;
    return { ...inherited, ...env, [RUN_MARK]: this.folder };
  }

  private watch(name: string, pid: number, log: string, ended: Promise<End>): Running {
    let end: string | undefined;
    void ended.then(({ how }) => (end = how));
    return {
      pid,
      log,
      ended,
      assertAlive: () => {
        if (end !== undefined) throw new Hopeless(`${name} has ended (${end}); the end of ${log}:\n${tail(log)}`);
      },
      stop: async () => {
        await endGroup(pid);
        this.groups.delete(pid);
      },
    };
  }
}

function endOf(child: ChildProcess, program: Program): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (failure) => {
      resolve({ exitCode: undefined, how: `${program.command} could not be started: ${failure.message}` });
    });
    child.once('exit', (code, signal) => {
      resolve({
        exitCode: code ?? undefined,
        how: code === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${code}`,
      });
    });
  });
}

async function endGroup(group: number): Promise<void> {
  if (!signal(group, 'SIGTERM')) return;
  signal(group, 'SIGCONT'); // one that SIGSTOP holds ends no sooner
  for (const deadline = performance.now() + STOP_TIMEOUT_MS; performance.now() < deadline;) {
    await pause(50);
    if (!signal(group, 0)) return;
  }
  signal(group, 'SIGKILL');
}

/** @returns whether the group had a process to send it to */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name);
  } catch {
    return false;
  }
}

/** The end of a log, indented; nothing if the folder is gone already. */
function tail(log: string): string {
  const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
  const lines = text.trimEnd().split('\n').slice(-TAIL_LINES);
  return lines.map((line) => `    ${line.slice(0, 400)}`).join('\n');
}
