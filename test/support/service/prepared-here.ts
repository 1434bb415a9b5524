import { deserialize, serialize } from 'node:v8';
import { admissionVerdict } from '../../../src/acl-sync/domain/candidate.js';
import { preparationTasks, runTask } from '../../../src/acl-sync/domain/preparation-tasks.js';
import type { RulesPreparer } from '../../../src/acl-sync/domain/run-ports.js';
import type { AdmissionProof } from '../../../src/grants/domain/admission-ports.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';

/** Has them work in this process, where the compiler is loaded: the processes of all runs of all specs cost a minute of a core. */
export function prepareHere(preparer: RulesPreparer, proof: AdmissionProof): void {
  const tasks = preparationTasks(preparer.compilerDigest);
  Object.assign(preparer, {
    run: (name, ...args) => Promise.resolve().then(() => copied(runTask(tasks, copied({ name, args })))),
  } satisfies Partial<RulesPreparer>);
  Object.assign(proof, {
    judge: here(admissionVerdict),
    judgeGuarantees: here((snapshot: Snapshot) => admissionVerdict(snapshot, null)),
  } satisfies Partial<AdmissionProof>);
}

/** What is given and answered is copied, as on the way to another process. */
function here<A extends unknown[], T>(work: (...given: A) => T): (...given: A) => Promise<T> {
  return (...given) => Promise.resolve().then(() => copied(work(...copied(given))));
}

const copied = <T>(value: T): T => deserialize(serialize(value)) as T;
