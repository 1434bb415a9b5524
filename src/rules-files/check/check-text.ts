import { type Finding, TextPositions } from '../../trino-rules/document/finding.js';
import { severityOf } from './checks.js';
import { deadRules } from './dead-rules.js';
import { openDoors } from './doors.js';
import { fileInvariants, type ServiceSettings } from './file-invariants.js';
import { readLeniently } from './lenient-reader.js';
import type { PlacedFinding } from './placed-finding.js';
import { ruleTraps } from './rule-traps.js';

/**
 * Everything that is wrong with the text of a rules file, or easily meant otherwise, in the order of its places: what the engine
 * refuses, what it silently reads as something else, rules that never decide, and the invariants of the service accounts.
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
  // A single catalog's rules are not about `system`.
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
