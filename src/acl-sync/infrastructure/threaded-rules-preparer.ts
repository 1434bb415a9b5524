import { Worker } from 'node:worker_threads';
import { Injectable } from '@nestjs/common';
import type { Candidate, Preparation } from '../domain/candidate.js';
import { RulesPreparer } from '../domain/rules-preparer.js';

/** As it was built: a thread of its own cannot load TypeScript, and tests run from the source. */
const PROGRAM = new URL('../../../dist/acl-sync/infrastructure/preparation.js', import.meta.url);

/** A thread for each preparation, so that requests are answered meanwhile and its memory is given back. */
@Injectable()
export class ThreadedRulesPreparer extends RulesPreparer {
  override prepare(preparation: Preparation): Promise<Candidate> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(PROGRAM, { workerData: preparation });
      worker.once('message', (candidate: Candidate) => resolve(candidate));
      worker.once('error', reject);
      // After a message this changes nothing; a thread that dies without one must not leave the run waiting.
      worker.once('exit', (code) => reject(new Error(`the preparation of the rules ended with code ${code}`)));
    });
  }
}
