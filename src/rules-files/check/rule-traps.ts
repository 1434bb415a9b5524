import { TABLE_PRIVILEGES } from '../../trino-rules/document/rules-document.js';
import { checkRuleCount } from '../../trino-rules/document/target-capacity.js';
import type { SectionName } from './engine-format.js';
import type { ForeignRule, ForeignRules } from './foreign-rules.js';
import type { PlacedFinding } from './placed-finding.js';

/** Number of table rules from which listings are slow. */
const MANY_TABLE_RULES = 3_000;

/** Rules that the engine accepts and that do not do what they say, or do more than is commonly meant. */
export function ruleTraps(rules: ForeignRules, at: number): PlacedFinding[] {
  const all = [...rules.values()].flat();
  return [
    ...all.flatMap(ofRole),
    ...all.filter(isForGroup).slice(0, 1).map(ofGroup),
    ...all.flatMap(forEverybody),
    ...(rules.get('principals') ?? []).slice(0, 1).map(ofPrincipal),
    ...checkRuleCount(rules.get('tables')?.length ?? 0, MANY_TABLE_RULES).map(({ message }) => ({
      code: 'many-table-rules' as const,
      message,
      at,
    })),
  ];
}

function about(code: PlacedFinding['code'], message: string, rule: ForeignRule, at = rule.at): PlacedFinding {
  return { code, message, at, rule: rule.place };
}

function ofRole(rule: ForeignRule): PlacedFinding[] {
  const role = rule.patterns.get('role') ?? rule.patterns.get('original_role');
  const message = `${rule.place} never matches: the file access control knows no roles`;
  return role === undefined ? [] : [about('rule-role', message, rule, role.at)];
}

function isForGroup({ patterns }: ForeignRule): boolean {
  return patterns.has('group') || patterns.has('original_group');
}

function ofGroup(rule: ForeignRule): PlacedFinding {
  const at = (rule.patterns.get('group') ?? rule.patterns.get('original_group'))?.at;
  return about(
    'rule-group',
    `${rule.place} matches only where the engine has a group provider, as do all rules with a group`,
    rule,
    at,
  );
}

const WIDEST: Partial<Record<SectionName, readonly string[]>> = {
  catalogs: ['all'],
  schemas: ['true'],
  tables: TABLE_PRIVILEGES,
  impersonation: ['true'],
};

/** Without any condition, or with conditions that every name meets. */
function forEverybody(rule: ForeignRule): PlacedFinding[] {
  if (rule.isRefused || isForGroup(rule)) return [];
  const widest = WIDEST[rule.section];
  const isWide = widest?.every((gift) => rule.gives.includes(gift) || (gift === 'all' && rule.gives.includes('owner')));
  const isOpen = [...rule.patterns.values()].every(({ text }) => text === '.*');
  if (isWide !== true || !isOpen) return [];
  return [about('rule-allows-everybody', `${rule.place} gives everybody everything that its section can give`, rule)];
}

function ofPrincipal(rule: ForeignRule): PlacedFinding {
  return about('rule-principals', 'the section "principals" is deprecated in favour of "impersonation"', rule);
}
