import { deserialize, serialize } from 'node:v8';
import { admissionVerdict, type Preparation, prepare } from '../../../src/acl-sync/domain/candidate.js';
import { prepareWithdrawal, type WithdrawalOrder } from '../../../src/acl-sync/domain/prepared-withdrawal.js';
import type { RulesPreparer } from '../../../src/acl-sync/domain/run-ports.js';
import { documentOf } from '../../../src/acl-sync/domain/unexplained-change.js';
import type { AdmissionProof } from '../../../src/grants/domain/admission-ports.js';
import { compareAccess } from '../../../src/trino-rules/diff/access-change.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';

/** Has them work in this process, where the compiler is loaded: the processes of all runs of all specs cost a minute of a core. */
export function prepareHere(preparer: RulesPreparer, proof: AdmissionProof): void {
  const { build } = preparer;
  Object.assign(preparer, {
    prepare: here((preparation: Preparation) => prepare(preparation, build)),
    withdraw: here((preparation: Preparation, order: WithdrawalOrder) => prepareWithdrawal(preparation, build, order)),
    compare: here((before: string, after: string) => compareAccess(documentOf(before), documentOf(after))),
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
