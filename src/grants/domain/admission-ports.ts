import type { AccessIndex } from '../../trino-rules/answers/access-index.js';
import type { GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** An upper estimate of how much the rules grow by grants, policies and memberships that were written since a given time. */
export interface Growth {
  /** Estimated bytes of the rules that the written grants need. */
  bytes: number;
  /** Whether a written row (a membership, a policy or a grant above tables) can change rules on nodes that the row does not name. */
  isWide: boolean;
}

export interface Forecast {
  /** False: the state being written is too large to be published. */
  fits: boolean;
  /** Says why the state does not fit or how little capacity is left, and what to do. */
  message: string;
}

/** Port: whether the state being written still fits the target. `acl-sync` implements it with compiler and target. */
export abstract class SizeForecast {
  /**
   * Must be called inside the writing transaction.
   * @param read reads the state that the transaction has written; not called if an estimate suffices
   * @returns null: the target has no limit, or enough capacity is left
   */
  abstract forecast(read: () => Promise<Snapshot>, growth: (since: Date) => Promise<Growth>): Promise<Forecast | null>;
}

export interface AdmissionVerdict {
  /** Why a publication run would refuse the snapshot, apart from guarantees. Null: there is no reason, or the proof took too long and was stopped. */
  refusal: string | null;
  /** Verdicts on the guarantees of the snapshot. Empty if they could not be judged in time. */
  verdicts: GuaranteeVerdict[];
}

/** Port: whether the state being written can be compiled and proved. `acl-sync` implements it with compiler and proof. */
export abstract class AdmissionProof {
  /**
   * Must be called inside the writing transaction.
   * @param snapshot the state that the transaction has written, for the nodes that it touches
   * @param formerSnapshot the state before the write, whose breaches the verdicts do not list. Null: the verdicts list all breaches
   */
  abstract judge(snapshot: Snapshot, formerSnapshot: Snapshot | null): Promise<AdmissionVerdict>;
  /** Judges only the guarantees, without a time limit. If `verdicts` is empty, `refusal` says why. */
  abstract judgeGuarantees(snapshot: Snapshot): Promise<AdmissionVerdict>;
}

/** A node or, if `column` is set, the columns of that name in all tables of the node. */
export type EngineNode = Node & { column?: string };

/**
 * Port: the engine's catalogs, and its analysis of expressions. `query-engine` implements it. Its methods answer within one or two
 * seconds, with null when the engine does not answer.
 */
export abstract class EngineNames {
  /** One sentence per node on the part that the engine does not know; null: the engine knows the whole node, or does not answer. */
  abstract unknownParts(nodes: readonly EngineNode[]): Promise<(string | null)[]>;
  /** A sentence on why the engine would refuse the row filter or the mask; null: it accepts the expression, or does not answer. */
  abstract expressionError(
    kind: 'row_filter' | 'column_mask',
    node: EngineNode,
    expression: string,
  ): Promise<string | null>;
}

/** A published version, with an object that answers questions about the access that it gives. */
export interface PublishedVersion {
  version: number;
  /** Evaluates the version's rules. If OPA is the only target and the version has no rules, it evaluates the version's snapshot. */
  engine: Evaluator | AccessIndex;
}

/** Port: the last published rules. `acl-sync` implements it with its history. */
export abstract class PublishedRules {
  abstract currentVersion(): Promise<PublishedVersion | null>;
}
