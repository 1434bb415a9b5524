import { once } from 'node:events';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

import type { Answer, Question, RareQuestion } from '../../support/rules/engine-question.js';

export type Loading = { loaded: true; millis: number } | { loaded: false; millis: number; error: string };

export interface Answers {
  /** `error` where the engine neither allows nor denies. */
  answers: (Answer | { error: string })[];
  millis: number;
}

/** The engine's own file access control, in a process of its own (see EngineOracle.java). Times are the engine's alone. */
export class Oracle {
  private readonly lines: AsyncIterator<string>;
  private files = 0;

  private constructor(
    private readonly process: ChildProcessWithoutNullStreams,
    private readonly reader: Interface,
    private readonly folder: string,
  ) {
    this.lines = reader[Symbol.asyncIterator]();
  }

  /**
   * @param folder what `installEngineOracle` made
   * @param heap the most that its rules may take, as passed to the JVM
   */
  static async start(javaHome: string, folder: string, heap = '1g'): Promise<Oracle> {
    const classPath = [join(folder, 'classes'), join(folder, 'lib', '*')].join(':');
    const child = spawn(join(javaHome, 'bin', 'java'), [`-Xmx${heap}`, '-cp', classPath, 'EngineOracle']);
    child.stderr.resume();
    return new Oracle(child, createInterface(child.stdout), await mkdtemp(join(tmpdir(), 'grantline-oracle-')));
  }

  async load(rules: string | Uint8Array): Promise<Loading> {
    const file = join(this.folder, `${(this.files += 1)}.rules.json`);
    writeFileSync(file, rules); // at once: what is asked next is about these rules
    return (await this.request({ load: file })) as Loading;
  }

  /**
   * Of users without groups, where a question gives none.
   * @param times how often everything is asked; the answers are those of the last time
   */
  async ask(
    questions: readonly ((Question | RareQuestion) & { groups?: readonly string[] })[],
    times = 1,
  ): Promise<Answers> {
    return (await this.request({ ask: questions, times })) as Answers;
  }

  /** The answers by these rules. @throws Error where the engine refuses them */
  async answersBy(rules: string, questions: Parameters<Oracle['ask']>[0]): Promise<Answers['answers']> {
    const [loading, { answers }] = await Promise.all([this.load(rules), this.ask(questions)]);
    if (!loading.loaded) throw new Error(`the engine refuses the rules: ${loading.error}`);
    return answers;
  }

  /**
   * What `java.util.regex` makes of patterns and whole names.
   * @returns for each question a `1` for each name that matches and a `0` for each other; null where Java refuses the pattern
   */
  async match(questions: readonly [pattern: string, ...names: string[]][]): Promise<(string | null)[]> {
    return ((await this.request({ match: questions })) as { matches: (string | null)[] }).matches;
  }

  /** From now on the file is read again and again, as the engine reads it when a refresh is due. */
  async watch(file: string): Promise<void> {
    await this.request({ watch: file });
  }

  /** How often the file was read so far, and why the engine refused it. */
  async watched(): Promise<{ reads: number; refusals: string[] }> {
    return (await this.request({ watched: true })) as { reads: number; refusals: string[] };
  }

  async stop(): Promise<void> {
    const ended = once(this.process, 'exit');
    this.process.stdin.end();
    await ended;
    this.reader.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async request(request: object): Promise<unknown> {
    this.process.stdin.write(`${JSON.stringify(request)}\n`);
    const line = await this.lines.next();
    if (line.done === true) throw new Error('the engine oracle has ended');
    return JSON.parse(line.value);
  }
}

/** Does work for each item, two at a time: while the engine answers about one, the other is compared and the next one made. */
export async function inPairs<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all([worker(), worker()]);
}
