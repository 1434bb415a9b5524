import { compareAccess } from '../../trino-rules/diff/access-change.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { admissionVerdict, compileFor, prepare } from '../domain/candidate.js';
import { prepareWithdrawal } from '../domain/prepared-withdrawal.js';
import type { CompiledText } from '../domain/run-ports.js';
import { documentOf } from '../domain/unexplained-change.js';
import { type PreparationAnswer, compilerDigest, type PreparationTask } from './preparation-process.js';

const COMPILER = compilerDigest();

// Entry point of the child process, which ends when its channel to the service closes.
process.on('message', (task: PreparationTask) => process.send?.(answered(task)));
process.on('disconnect', () => process.exit());

function answered(task: PreparationTask): PreparationAnswer<unknown> {
  try {
    return { result: answer(task) };
  } catch (error) {
    return { thrown: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function answer(task: PreparationTask) {
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
      return admissionVerdict(task.snapshot, task.former);
    case 'load':
      return null;
  }
}

function textFor(snapshot: Snapshot, limit: number | null): CompiledText {
  const compiled = compileFor(snapshot, limit);
  return compiled.kind === 'compiled' ? { kind: 'compiled', text: compiled.rules.text } : compiled;
}
