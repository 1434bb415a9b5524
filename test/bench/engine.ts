import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Oracle, type Answers } from '../stack/engine-oracle/oracle.js';
import { cacheFolder } from '../stack/parts/cache.js';
import { installEngineOracle } from '../stack/parts/engine-oracle.js';
import { javaHome } from '../stack/parts/java.js';
import type { Processes } from '../stack/running/processes.js';
import type { Question } from '../support/rules/engine-question.js';

/** Of CPU time, because a machine has other things to do as well. */
export interface EngineFigures {
  loadMs: number;
  decisionsPerSecond: number;
  answers: Answers['answers'];
}

/** What each document may take in the engine. */
const HEAP = '4g';
/** A turn takes at least so long; below that the clock and the compiler of the virtual machine would be measured. */
const LONG_MS = 500;
const MAX_TIMES = 200;
const WARM = 60;
/** The shortest of them counts: the others were held up by what else runs on the machine. */
const TURNS = 5;

/** The engine's own access control as a stopwatch, with a process of its own for each document. */
export class EngineBench {
  private constructor(
    private readonly java: string,
    private readonly classes: string,
  ) {}

  /** @throws Error without a JDK that can run the engine, or Maven to fetch it */
  static async install(processes: Processes): Promise<EngineBench> {
    const java = javaHome(process.env);
    return new EngineBench(java, await installEngineOracle(processes, cacheFolder(process.env), java));
  }

  /** @returns a text where the engine cannot hold the document */
  async measure(folder: string, variant: string, questions: readonly Question[]): Promise<EngineFigures | string> {
    const oracle = await Oracle.start(this.java, this.classes, HEAP);
    try {
      // The first document also loads the engine's classes.
      await oracle.load('{"catalogs":[{"allow":"none"}]}');
      const loading = await oracle.load(readFileSync(join(folder, `${variant}.json`)));
      if (!loading.loaded) return loading.error;
      const { perQuestion, answers } = await steady(oracle, questions);
      return { loadMs: loading.millis, decisionsPerSecond: 1_000 / perQuestion, answers };
    } finally {
      await oracle.stop();
    }
  }
}

/** Warms up with a few of the questions, and asks all of them in turns that are long enough; once where that takes long. */
async function steady(
  oracle: Oracle,
  questions: readonly Question[],
): Promise<{ perQuestion: number; answers: Answers['answers'] }> {
  const few = questions.slice(0, WARM);
  const warm = await oracle.ask(few);
  const once = (warm.millis / few.length) * questions.length;
  const times = Math.min(MAX_TIMES, Math.max(1, Math.ceil(LONG_MS / once)));
  let { millis, answers } = await oracle.ask(questions, times);
  for (let turn = 1; turn < TURNS && times > 1; turn++)
    ({ millis, answers } = better(millis, await oracle.ask(questions, times)));
  return { perQuestion: millis / times / questions.length, answers };
}

function better(millis: number, answered: Answers): Answers {
  return { ...answered, millis: Math.min(millis, answered.millis) };
}
