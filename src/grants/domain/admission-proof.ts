import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** Whether what is being written could be compiled and proved. `acl-sync` provides it, because it knows compiler and proof. */
export abstract class AdmissionProof {
  /**
   * Asked inside the transaction that writes.
   * @param snapshot what the transaction would leave, at the nodes that it touches
   * @returns why a run would refuse it; null: it would not, or that takes too long to find out here and is left to the run
   */
  abstract refusal(snapshot: Snapshot): Promise<string | null>;
}
