import type { Finding } from '../../../src/trino-rules/document/finding.js';
import type { RulesDocument } from '../../../src/trino-rules/document/rules-document.js';
import { WorkBudget } from '../../../src/trino-rules/document/work-budget.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { withEngine } from '../../../src/trino-rules/verify/check.js';
import { prove } from '../../../src/trino-rules/verify/proof.js';

/** The proof alone, of a document that need not be a published text, within no budget. */
export function proveRules(rules: RulesDocument, snapshot: Snapshot): Finding[] {
  return withEngine(rules, snapshot, new WorkBudget(), prove);
}
