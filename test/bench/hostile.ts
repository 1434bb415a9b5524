import { fork } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { admissionVerdict } from '../../src/acl-sync/domain/candidate.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../support/rules/metadata-visibility.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { anyRules } from '../support/snapshots/any-rules.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import { byIntent } from '../support/rules/by-intent.js';
import { type Answer, anyQuestion } from '../support/rules/engine-question.js';
import { hostileDocuments } from '../support/rules/hostile-documents.js';
import { anyHostileSnapshot } from '../support/snapshots/hostile-snapshot.js';
import { wordsOf } from '../support/snapshots/snapshot-words.js';
import { cpuMs } from './judging.js';

/**
 * npm run bench:acl -- hostile: what the check of documents costs that ask for as much work as one mebibyte can, and of 10,000
 * random ones; each hostile one in a process of its own, whose peak memory is its own. Then whether 10,000 snapshots of the strangest
 * names that can be written down are published, and mean what was written.
 */
const RANDOM = 10_000;
const QUESTIONS = 20;
const small = aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'lake.eu').snapshot();
const [asked] = process.argv.slice(2);
if (asked === undefined) {
  let slowest = 0;
  for (const name of Object.keys(hostileDocuments())) slowest = Math.max(slowest, await apart(name));
  console.log(
    `the slowest hostile document took ${(slowest / 1_000).toFixed(1)} s of processor time (target: 10 s, 1 GiB)`,
  );
  console.log(`${RANDOM} random documents: the slowest took ${random().toFixed(0)} ms`);
  const { refused, asked: questions, wrong } = snapshots();
  console.log(`${RANDOM} hostile snapshots: ${refused} refused, ${wrong} of ${questions} answers wrong (target: none)`);
} else {
  const text = hostileDocuments()[asked] ?? '';
  const began = cpuMs();
  const findings = checkRules(text, small);
  const took = cpuMs() - began;
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(
    `${asked}: ${(took / 1_000).toFixed(1)} s, ${peak} MiB, ${findings.length} findings (${findings[0]?.code ?? 'none'})`,
  );
  process.send?.(took);
}

function apart(name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, [name], { execArgv: [...process.execArgv, '--max-old-space-size=900'] });
    let took: number | null = null;
    child.once('message', (answer: number) => (took = answer));
    child.once('exit', () => (took === null ? reject(new Error(`${name}: the check did not end`)) : resolve(took)));
  });
}

function random(): number {
  const documents = fc.sample(fc.tuple(anyRules(), anySnapshot()), RANDOM);
  return documents.reduce((slowest, [rules, snapshot]) => {
    const began = cpuMs();
    checkRules(JSON.stringify(rules), snapshot);
    return Math.max(slowest, cpuMs() - began);
  }, 0);
}

function snapshots(): { refused: number; asked: number; wrong: number } {
  const sum = { refused: 0, asked: 0, wrong: 0 };
  for (const snapshot of fc.sample(anyHostileSnapshot(), RANDOM)) {
    if (admissionVerdict(snapshot, null).refusal !== null) sum.refused += 1;
    const evaluator = new Evaluator(compile(snapshot).document);
    const listings = new MetadataVisibility(evaluator);
    for (const question of fc.sample(anyQuestion(wordsOf(snapshot)), QUESTIONS)) {
      const expected = byIntent(snapshot, question);
      if (expected === undefined) continue;
      sum.asked += 1;
      if (!isDeepStrictEqual(ordered(expected), ordered(byEvaluator(evaluator, listings, question)))) sum.wrong += 1;
    }
  }
  return sum;
}

function ordered(answer: Answer | { error: string }): unknown {
  return Array.isArray(answer) ? [...(answer as string[])].sort() : answer;
}
