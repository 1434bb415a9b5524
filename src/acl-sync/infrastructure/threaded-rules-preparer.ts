import { Worker } from 'node:worker_threads';
import { Injectable } from '@nestjs/common';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Candidate, Preparation } from '../domain/candidate.js';
import type { Task } from './preparation.js';
import { RulesPreparer } from '../domain/rules-preparer.js';

/** As it was built: a thread of its own cannot load TypeScript, and tests run from the source. */
const PROGRAM = new URL('../../../dist/acl-sync/infrastructure/preparation.js', import.meta.url);

/** A thread for each preparation, so that requests are answered meanwhile and its memory is given back. */
@Injectable()
export class ThreadedRulesPreparer extends RulesPreparer {
  override prepare(preparation: Preparation): Promise<Candidate> {
    return inThread({ kind: 'prepare', preparation });
  }

  override withdraw(preparation: Preparation, how: 'compiled' | 'closed'): Promise<Candidate | null> {
    return inThread({ kind: 'withdraw', preparation, how });
  }

  override compile(snapshot: Snapshot): Promise<string> {
    return inThread({ kind: 'compile', snapshot });
  }
}

/** What the program answers to a task of this kind. */
function inThread<T>(task: Task): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(PROGRAM, { workerData: task });
    worker.once('message', (answer: T) => resolve(answer));
    worker.once('error', reject);
    // After a message this changes nothing; a thread that dies without one must not leave the run waiting.
    worker.once('exit', (code) => reject(new Error(`the preparation of the rules ended with code ${code}`)));
  });
}
