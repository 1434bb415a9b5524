import { type Finding, TextPositions } from '../../trino-rules/document/finding.js';
import { type PlacedFinding, severityOf } from './checks.js';
import { deadRules } from './dead-rules.js';
import { openDoors } from './doors.js';
import { fileInvariants, type ServiceSettings } from './file-invariants.js';
import { readLeniently } from './lenient-reader.js';
import { TABLE_PRIVILEGES } from '../../trino-rules/document/rules-document.js';
import { checkRuleCount } from '../../trino-rules/document/target-capacity.js';
import type { SectionName } from './engine-format.js';
import { type ForeignRule, type ForeignRules, groupPattern, rolePattern } from './foreign-rules.js';

/**
 * Findings about the text of a rules file, in the order of their places: text that the engine refuses or reads as something else, traps,
 * rules that never decide, ways around restrictions, and invariants of the service accounts.
 */
export function checkText(text: string, settings: ServiceSettings): PlacedFinding[] {
  const { rules, at, findings } = readLeniently(text, settings);
  const all =
    rules === null
      ? findings
      : [
          ...findings,
          ...ruleTraps(rules, at),
          ...deadRules(rules),
          ...openDoors(rules, settings, at),
          ...fileInvariants(rules, settings, at),
        ];
  // Rules of a single catalog cannot open `system`, where JDBC tools list tables.
  const found = settings.isOfOneCatalog === true ? all.filter(({ code }) => code !== 'rules-listings-closed') : all;
  return found.sort((a, b) => a.at - b.at);
}

/** `checkText` with severities, lines and columns. */
export function checkRulesFile(text: string, settings: ServiceSettings): Finding[] {
  const positions = new TextPositions(text);
  return checkText(text, settings).map(({ at, ...finding }) => ({
    ...finding,
    severity: severityOf(finding.code),
    ...positions.of(at),
  }));
}

const MANY_TABLE_RULES = 3_000;

/** Rules that the engine accepts and that do something else than they seem to. */
function ruleTraps(rules: ForeignRules, at: number): PlacedFinding[] {
  const all = [...rules.values()].flat();
  return [
    ...all.flatMap(ofRole),
    ...all
      .filter((rule) => groupPattern(rule) !== undefined)
      .slice(0, 1)
      .map(ofGroup),
    ...all.flatMap(forEverybody),
    ...(rules.get('principals') ?? []).slice(0, 1).map((rule) => about('rule-principals', OF_PRINCIPALS, rule)),
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
  const role = rolePattern(rule);
  const message = `${rule.place} never matches: the file access control knows no roles`;
  return role === undefined ? [] : [about('rule-role', message, rule, role.at)];
}

function ofGroup(rule: ForeignRule): PlacedFinding {
  const message = `${rule.place} matches only where the engine has a group provider, as do all rules with a group`;
  return about('rule-group', message, rule, groupPattern(rule)?.at);
}

const WIDEST: Partial<Record<SectionName, readonly string[]>> = {
  catalogs: ['all'],
  schemas: ['true'],
  tables: TABLE_PRIVILEGES,
  impersonation: ['true'],
};

function forEverybody(rule: ForeignRule): PlacedFinding[] {
  if (rule.isRefused || groupPattern(rule) !== undefined) return [];
  const widest = WIDEST[rule.section];
  const isWide = widest?.every((gift) => rule.gives.includes(gift) || (gift === 'all' && rule.gives.includes('owner')));
  const isOpen = [...rule.patterns.values()].every(({ text }) => text === '.*');
  if (isWide !== true || !isOpen) return [];
  return [about('rule-allows-everybody', `${rule.place} gives everybody everything that its section can give`, rule)];
}

const OF_PRINCIPALS = 'the section "principals" is deprecated in favour of "impersonation"';
