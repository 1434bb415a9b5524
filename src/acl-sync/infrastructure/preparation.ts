import { parentPort } from 'node:worker_threads';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { type Preparation, prepare, prepareWithdrawal, refusalOf } from '../domain/candidate.js';
import { compile } from '../compiler/compile.js';
import { compilerDigest } from './compiler-digest.js';

export type Task =
  | { kind: 'prepare'; preparation: Preparation }
  | { kind: 'withdraw'; preparation: Preparation; how: 'compiled' | 'closed' }
  | { kind: 'compile'; snapshot: Snapshot }
  | { kind: 'prove'; snapshot: Snapshot }
  | { kind: 'load' };

// The program of a preparation's thread.
parentPort?.on('message', (task: Task) => parentPort?.postMessage(answer(task)));

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
