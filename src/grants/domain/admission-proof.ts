import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** Port: whether the state being written can be compiled and proved. `acl-sync` implements it with compiler and proof. */
export abstract class AdmissionProof {
  /**
   * Called inside the writing transaction.
   * @param snapshot the state that the transaction leaves, for the nodes that it touches
   * @returns why a run would refuse it; null: it would not, or the proof takes too long here and is left to the run
   */
  abstract refusal(snapshot: Snapshot): Promise<string | null>;
}
