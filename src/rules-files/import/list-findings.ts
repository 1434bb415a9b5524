import type { ForeignPattern, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { groupPattern, type ListedUser, ruleForGroups, userPattern } from '../foreign/audiences.js';
import { unlistedGroups, unlistedUsers } from '../foreign/unlisted-principals.js';
import { importFinding, type ImportFinding } from './import-finding.js';

/** Users and groups whom rules give something and the list has not. The service's own accounts have rules of their own. */
export function findingsOfList(
  rules: ForeignRules,
  users: readonly ListedUser[],
  { serviceAccounts }: SnapshotSettings,
  patterns: PatternCache,
): ImportFinding[] {
  const own = serviceAccounts.map((name) => ({ name, groups: [] }));
  const { names, rule } = unlistedUsers(rules, [...users, ...own], patterns);
  const [what, why] = [['what rules give them'], 'the list has not got them'];
  return [
    ...groupFindings(rules, users, patterns),
    ...(rule === null ? [] : [importFinding('import-users-missing', names, what, why, placeOf(rule, userPattern))]),
  ];
}

/** A file with rules for groups is nearly always meant for users with some. */
function groupFindings(rules: ForeignRules, users: readonly ListedUser[], patterns: PatternCache): ImportFinding[] {
  const what = ['what rules for groups give'];
  if (users.some(({ groups }) => groups.length > 0)) {
    const { names, rule } = unlistedGroups(rules, users, patterns);
    const why = `nobody of the list is in ${names.join(', ')}`;
    return rule === null ? [] : [importFinding('import-groups-missing', [], what, why, placeOf(rule, groupPattern))];
  }
  const rule = ruleForGroups(rules);
  if (rule === undefined) return [];
  const [people, why] = [users.map(({ name }) => name), 'the list gives nobody a group'];
  return [importFinding('import-no-groups', people, what, why, placeOf(rule, groupPattern))];
}

function placeOf(
  rule: ForeignRule,
  pattern: (rule: ForeignRule) => ForeignPattern | undefined,
): Pick<ImportFinding, 'rule' | 'at'> {
  return { rule: rule.place, at: pattern(rule)?.at ?? rule.at };
}
