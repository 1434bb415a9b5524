/** The exports of `grantline/trino-rules`: access rules of the Trino engine as a library, without the service around it. */
export { AccessIndex } from './answers/access-index.js';
export { effectiveAccess, type EffectiveAccess } from './answers/effective-access.js';
export { explain, type Explanation } from './answers/explanation.js';
export { holders, type Holder } from './answers/holders.js';
export { smallestChange, type Change } from './answers/smallest-change.js';
export { compile, type CompiledRules } from './compile/compile.js';
export { compareAccess, type AccessChange } from './diff/access-change.js';
export { diffAccess, type AccessDiff, type AccessDifference } from './diff/access-diff.js';
export { diffRules, type RulesDiff } from './diff/rules-diff.js';
export { isError, type Finding } from './document/finding.js';
export type { RulesDocument } from './document/rules-document.js';
export { readRules, type RulesReading } from './document/rules-reader.js';
export { Evaluator } from './engine/evaluator.js';
export { decide, type Decision } from './model/decision.js';
export type { Question } from './model/question.js';
export { readSnapshot, writeSnapshot, type SnapshotDefaults, type SnapshotReading } from './model/snapshot-file.js';
export type { Snapshot, SnapshotSettings } from './model/snapshot.js';
export { checkRules } from './verify/check.js';
