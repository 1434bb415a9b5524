import type { Evaluator } from '../../trino-rules/engine/evaluator.js';

/** A version, and what the engine answers by it. */
export interface PublishedVersion {
  version: number;
  engine: Evaluator;
}

/** Port: the rules that were published last. `acl-sync` implements it with its history. */
export abstract class PublishedRules {
  /** Null: nothing is published yet. */
  abstract current(): Promise<PublishedVersion | null>;
}
