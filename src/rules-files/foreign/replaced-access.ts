import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { principalsOf, type Snapshot } from '../../trino-rules/model/snapshot.js';
import { isRefused } from '../check/checks.js';
import { toOneLine } from '../check/foreign-rules.js';
import { readLeniently } from '../check/lenient-reader.js';
import { type ListedUser, ListedUsers, newPatternCache, recordedUsers } from './audiences.js';
import { foreignDocument } from './foreign-document.js';
import { withComparableFilters } from '../../trino-rules/engine/schema-tables.js';

const MAX_WORK_STEPS = 1_000_000_000;

/** How access changes if a document replaces a rules file from elsewhere. Null: the file cannot be evaluated. */
export function replacedAccess(file: string, snapshot: Snapshot, nextDocument: RulesDocument): AccessChange | null {
  const { rules, findings } = readLeniently(file);
  if (rules === null || findings.some(({ code }) => isRefused(code))) return null;
  const patterns = newPatternCache(new WorkBudget(MAX_WORK_STEPS));
  try {
    const users = new ListedUsers(listedPrincipals(snapshot), patterns);
    const { document, unjudgedPatterns } = foreignDocument(rules, users, ({ text }) => toOneLine(text));
    if (unjudgedPatterns.length > 0) return null;
    return compareAccess(withComparableFilters(document), withComparableFilters(nextDocument), undefined, patterns);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return null;
  }
}

function listedPrincipals(snapshot: Snapshot): ListedUser[] {
  const { settings, groups, grants } = snapshot;
  const grantees = grants.flatMap(principalsOf).flatMap((each) => (each.type === 'engine' ? [each.name] : []));
  const engineNames = new Set([...settings.serviceAccounts, ...groups.flatMap(({ engines }) => engines), ...grantees]);
  const groupsOf = (enginePrincipal: string): string[] =>
    groups.flatMap(({ name, engines }) => (engines.includes(enginePrincipal) ? [name] : []));
  return [...recordedUsers(snapshot), ...[...engineNames].map((name) => ({ name, groups: groupsOf(name) }))];
}
