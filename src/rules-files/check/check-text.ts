import { type Finding, TextPositions } from '../../trino-rules/document/finding.js';
import { type PlacedFinding, severityOf } from './checks.js';
import { deadRuleFindings } from './dead-rules.js';
import { loopholeFindings } from './loopholes.js';
import { fileInvariants, type ServiceSettings } from './file-invariants.js';
import { readLeniently } from './lenient-reader.js';
import { TABLE_PRIVILEGES } from '../../trino-rules/document/rules-document.js';
import { checkRuleCount } from '../../trino-rules/document/target-capacity.js';
import type { SectionName } from './engine-format.js';
import { type ForeignRule, type ForeignRules, groupPattern, rolePattern } from './foreign-rules.js';

/**
 * Findings about the text of a rules file, sorted by offset: texts that the engine refuses or misreads, traps, rules that never decide,
 * loopholes, and broken invariants of the service accounts.
 */
export function checkText(text: string, settings: ServiceSettings): PlacedFinding[] {
  const { rules, at, findings } = readLeniently(text, settings);
  const allFindings =
    rules === null
      ? findings
      : [
          ...findings,
          ...ruleTrapFindings(rules, at),
          ...deadRuleFindings(rules),
          ...loopholeFindings(rules, settings, at),
          ...fileInvariants(rules, settings, at),
        ];
  // `rules-listings-closed` asks for a rule on `system`, where JDBC tools list tables. Files of a single catalog cannot have such a rule.
  const isShown = ({ code }: PlacedFinding) => settings.isOfOneCatalog !== true || code !== 'rules-listings-closed';
  return allFindings.filter(isShown).sort((a, b) => a.at - b.at);
}

/** The findings of `checkText`, with severities, lines and columns. */
export function checkRulesFile(text: string, settings: ServiceSettings): Finding[] {
  const positions = new TextPositions(text);
  return checkText(text, settings).map(({ at, ...finding }) => ({
    ...finding,
    severity: severityOf(finding.code),
    ...positions.positionOf(at),
  }));
}

const MANY_TABLE_RULES = 3_000;

function ruleTrapFindings(rules: ForeignRules, at: number): PlacedFinding[] {
  const allRules = [...rules.values()].flat();
  return [
    ...allRules.flatMap(roleFindings),
    ...allRules
      .filter((rule) => groupPattern(rule) !== undefined)
      .slice(0, 1)
      .map(groupFinding),
    ...allRules.flatMap(everybodyFindings),
    ...(rules.get('principals') ?? [])
      .slice(0, 1)
      .map((rule) => finding('rule-principals', PRINCIPALS_DEPRECATED, rule)),
    ...checkRuleCount(rules.get('tables')?.length ?? 0, MANY_TABLE_RULES).map(({ message }) => ({
      code: 'many-table-rules' as const,
      message,
      at,
    })),
  ];
}

function finding(code: PlacedFinding['code'], message: string, rule: ForeignRule, at = rule.at): PlacedFinding {
  return { code, message, at, rule: rule.place };
}

function roleFindings(rule: ForeignRule): PlacedFinding[] {
  const role = rolePattern(rule);
  const message = `${rule.place} never matches: the file access control knows no roles`;
  return role === undefined ? [] : [finding('rule-role', message, rule, role.at)];
}

function groupFinding(rule: ForeignRule): PlacedFinding {
  const message = `${rule.place} matches only where the engine has a group provider, as do all rules with a group`;
  return finding('rule-group', message, rule, groupPattern(rule)?.at);
}

/** The rights of a rule that gives everything its section can give. */
const FULL_RIGHTS: Partial<Record<SectionName, readonly string[]>> = {
  catalogs: ['all'],
  schemas: ['true'],
  tables: TABLE_PRIVILEGES,
  impersonation: ['true'],
};

function everybodyFindings(rule: ForeignRule): PlacedFinding[] {
  if (rule.isRefused || groupPattern(rule) !== undefined) return [];
  const fullRights = FULL_RIGHTS[rule.section];
  const hasFullRights = fullRights?.every(
    (right) => rule.rights.includes(right) || (right === 'all' && rule.rights.includes('owner')),
  );
  const matchesEverything = [...rule.patterns.values()].every(({ text }) => text === '.*');
  if (hasFullRights !== true || !matchesEverything) return [];
  return [finding('rule-allows-everybody', `${rule.place} gives everybody everything that its section can give`, rule)];
}

const PRINCIPALS_DEPRECATED = 'the section "principals" is deprecated in favour of "impersonation"';
