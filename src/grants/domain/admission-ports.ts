import type { GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** An upper estimate of the growth of the rules by the rows written since a given time. */
export interface Growth {
  /** Size of the rules on the granted nodes, with all principals of the grants. */
  bytes: number;
  /** Whether a row, such as a grant above tables, a policy or a membership, can change rules on nodes that it does not name. */
  isWide: boolean;
}

export interface Forecast {
  /** False: the state being written could not be published. */
  fits: boolean;
  /** Why it does not fit, or how little capacity is left, and what to do. */
  message: string;
}

/** Port: whether the state being written still fits the target. `acl-sync` implements it with compiler and target. */
export abstract class SizeForecast {
  /**
   * Called inside the writing transaction.
   * @param read reads the snapshot that the transaction leaves; called only near the limit
   * @returns null: there is enough capacity
   */
  abstract forecast(read: () => Promise<Snapshot>, growth: (since: Date) => Promise<Growth>): Promise<Forecast | null>;
}

export interface AdmissionVerdict {
  /** Why a run would refuse the snapshot, guarantees aside; null: it would not, or the proof takes too long here and is left to the run. */
  refusal: string | null;
  /** Verdicts on the guarantees of the snapshot; empty if they could not be judged in time. */
  verdicts: GuaranteeVerdict[];
}

/** Port: whether the state being written can be compiled and proved. `acl-sync` implements it with compiler and proof. */
export abstract class AdmissionProof {
  /**
   * Called inside the writing transaction.
   * @param snapshot the state that the transaction leaves, for the nodes that it touches
   * @param former the state before, whose breaches are no witnesses; null: all are
   */
  abstract judge(snapshot: Snapshot, former: Snapshot | null): Promise<AdmissionVerdict>;
  /** Judges only the guarantees, without a time limit. If `verdicts` is empty, `refusal` has the reason. */
  abstract judgeGuarantees(snapshot: Snapshot): Promise<AdmissionVerdict>;
}

/** A node, or the column of a name in all tables below it. */
export type EngineNode = Node & { column?: string };

/**
 * Port: the engine's catalogs, and its analysis of expressions. `query-engine` implements it. Its methods answer within one or two
 * seconds, with null when the engine does not answer.
 */
export abstract class EngineNames {
  /** For each node a sentence on the part that the engine does not know; null: the engine knows all of it, or does not answer. */
  abstract unknownParts(nodes: readonly EngineNode[]): Promise<(string | null)[]>;
  /** A sentence on why the engine would refuse the row filter or the mask; null: it accepts the expression, or does not answer. */
  abstract expressionError(
    kind: 'row_filter' | 'column_mask',
    node: EngineNode,
    expression: string,
  ): Promise<string | null>;
}

/** A published version, with an evaluator that answers as the engine does by it. */
export interface PublishedVersion {
  version: number;
  engine: Evaluator;
}

/** Port: the last published rules. `acl-sync` implements it with its history. */
export abstract class PublishedRules {
  /** Null: nothing is published yet. */
  abstract currentVersion(): Promise<PublishedVersion | null>;
}
