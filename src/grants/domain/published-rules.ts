import type { Evaluator } from '../../trino-rules/engine/evaluator.js';

/** Port: the rules that were published last. `acl-sync` implements it with its history. */
export abstract class PublishedRules {
  /** Null: nothing is published yet. */
  abstract current(): Promise<{ version: number; engine: Evaluator } | null>;
}
