import { compile } from '../../trino-rules/compile/compile.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { type Preparation, prepare, prepareWithdrawal, refusalOf } from '../domain/candidate.js';
import { compilerDigest } from './compiler-digest.js';

export type Task =
  | { kind: 'prepare'; preparation: Preparation }
  | { kind: 'withdraw'; preparation: Preparation; how: 'compiled' | 'closed' }
  | { kind: 'compile'; snapshot: Snapshot }
  | { kind: 'prove'; snapshot: Snapshot }
  | { kind: 'load' };

export type Answer<T> = { result: T } | { thrown: string };

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
      return prepare(task.preparation, compilerDigest());
    case 'withdraw':
      return prepareWithdrawal(task.preparation, compilerDigest(), task.how);
    case 'compile':
      return compile(task.snapshot).text;
    case 'prove':
      return refusalOf(task.snapshot);
    case 'load':
      return null;
  }
}
