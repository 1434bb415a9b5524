import { compareAccess } from '../../trino-rules/diff/access-change.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { type Preparation, prepare, refusalOf } from '../domain/candidate.js';
import { compileFor } from '../domain/compilation.js';
import { prepareWithdrawal, type WithdrawalOrder } from '../domain/prepared-withdrawal.js';
import type { CompiledText } from '../domain/rules-preparer.js';
import { documentOf } from '../domain/unexplained-change.js';
import { compilerDigest } from './compiler-digest.js';

export type Task =
  | { kind: 'prepare'; preparation: Preparation }
  | { kind: 'withdraw'; preparation: Preparation; order: WithdrawalOrder }
  | { kind: 'compile'; snapshot: Snapshot; limit: number | null }
  | { kind: 'compare'; before: string; after: string }
  | { kind: 'prove'; snapshot: Snapshot }
  | { kind: 'load' };

export type Answer<T> = { result: T } | { thrown: string };

const COMPILER = compilerDigest();

// Entry point of the child process, which ends when its channel to the service closes.
process.on('message', (task: Task) => process.send?.(answered(task)));
process.on('disconnect', () => process.exit());

function answered(task: Task): Answer<unknown> {
  try {
    return { result: answer(task) };
  } catch (error) {
    return { thrown: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function answer(task: Task) {
  switch (task.kind) {
    case 'prepare':
      return prepare(task.preparation, COMPILER);
    case 'withdraw':
      return prepareWithdrawal(task.preparation, COMPILER, task.order);
    case 'compile':
      return textFor(task.snapshot, task.limit);
    case 'compare':
      return compareAccess(documentOf(task.before), documentOf(task.after));
    case 'prove':
      return refusalOf(task.snapshot);
    case 'load':
      return null;
  }
}

function textFor(snapshot: Snapshot, limit: number | null): CompiledText {
  const compiled = compileFor(snapshot, limit);
  return compiled.kind === 'compiled' ? { kind: 'compiled', text: compiled.rules.text } : compiled;
}
