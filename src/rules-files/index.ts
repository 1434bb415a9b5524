/** The exports of `grantline-rules`: any rules file of the Trino engine, read as the engine reads it. */
export { checkRulesFile } from './check/check-text.js';
export { checkCodes, checkOf as explain } from './check/checks.js';
export type { ServiceSettings } from './check/file-invariants.js';
export type { ForeignRules } from './check/foreign-rules.js';
export { readLeniently, type LenientReading } from './check/lenient-reader.js';
export { accessDiffLines } from '../trino-rules/diff/access-diff-form.js';
export { diffRules, type RulesDiff } from '../trino-rules/diff/rules-diff.js';
export type { Finding } from '../trino-rules/document/finding.js';
export { readJavaPattern, type JavaPatternReading } from './java/java-pattern.js';
export { BudgetExceeded, WorkBudget } from '../trino-rules/document/work-budget.js';
export { diffForeign, type ForeignDiff } from './foreign/foreign-diff.js';
export { provenImport, type ProvenImport } from './import/proven-import.js';
