import { diffAccess } from '../trino-rules/diff/access-diff.js';
import { accessDiffForm, accessDiffLines } from '../trino-rules/diff/access-diff-form.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { WorkBudget } from '../trino-rules/document/work-budget.js';
import { print } from './output.js';
import { readRulesFile } from './rules-file.js';

/** Some seconds for a file of a mebibyte. */
const STEPS_PER_BYTE = 1_000;
const STEPS_AT_LEAST = 1_000_000_000;

/**
 * What changes from one rules file to another, in rules and in access. Needs no settings. Exit code 0: nothing; 1: something; 2: a
 * file cannot be read.
 */
export async function diffRulesFiles(before: string, after: string, { json }: { json?: true }): Promise<void> {
  const [former, next] = [await readRulesFile(before), await readRulesFile(after)];
  if (former === null || next === null) {
    process.exitCode = 2;
    return;
  }
  const rules = diffRules(former.text, next.text);
  const steps = STEPS_AT_LEAST + STEPS_PER_BYTE * (former.text.length + next.text.length);
  const access = diffAccess(former.document, next.document, new WorkBudget(steps));
  const isSame = [rules.added, rules.removed, access.gained, access.lost].every(({ length }) => length === 0);
  process.exitCode = isSame ? 0 : 1;
  if (json) {
    print(JSON.stringify({ rules, access: accessDiffForm(access) }));
    return;
  }
  const changes = accessDiffLines(access);
  const lines = [...rules.removed.map((rule) => `- ${rule}`), ...rules.added.map((rule) => `+ ${rule}`), ...changes];
  if (changes.length === 0) lines.push(isSame ? 'no difference' : 'nobody gains or loses anything');
  print(lines.join('\n'));
}
