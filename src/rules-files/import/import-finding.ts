import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { accessDiffLines } from '../../trino-rules/diff/access-diff-form.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';

import { type Severity, SEVERITIES } from '../../trino-rules/document/finding.js';

/** A remark on an import: mostly access that grants cannot express, with what the import does instead. */
export interface ImportFinding {
  code: ImportCode;
  /** `error`: people may get more access than the file gives. `warning`: they lose access that SQL statements can need. */
  severity: Severity;
  /** Users with this access; empty: not known. */
  people: string[];
  /** Descriptions of the access, such as `SELECT from sales.eu.orders`. */
  what: string[];
  why: string;
  instead: string;
  /** The rule that gives the access, such as `tables[12]`; null: no rule gives the access, or an absent section gives it. */
  rule: string | null;
  /** Offset in the text of the rules. */
  at: number;
}

export type ImportCode = keyof typeof IMPORT_CODES;

const IMPORT_CODES = {
  'import-engine-groups': ['error', 'taken over as it is'],
  'import-uncompared': ['error', 'not compared'],
  'import-newcomers': ['error', 'kept from nobody: add them to the list, or write a deny'],
  'import-lost': ['warning', 'not granted'],
  'import-pattern-resolved': ['warning', 'granted on the names of the listing alone'],
  'import-right': ['warning', 'given to nobody'],
  'import-pattern-not-judged': ['warning', 'nothing that the rule may match is granted'],
  'import-no-groups': ['warning', 'the rules for groups match nobody'],
  'import-groups-missing': ['warning', 'rules for these groups match nobody'],
  'import-users-missing': ['warning', 'nothing is granted'],
  'import-filter-leaks': ['info', 'taken over as it is'],
  'import-joiners': ['info', 'not granted to the group'],
  'import-combinations': ['info', 'not granted to those of both groups'],
  'import-leavers': ['info', 'granted also when they leave a group'],
  'import-group-renamed': ['info', 'made under another name'],
  'import-program': ['info', 'taken for a program'],
  'import-strangers': ['info', 'acts as everyone with an account'],
  'import-unlisted': ['info', 'granted over those of the list alone'],
  'import-entry': ['info', 'not granted'],
  'import-doors': ['info', 'closed, as docs/limits.md says'],
  'import-session-properties': ['info', 'left to a setting'],
  'import-basic-access': ['info', 'given'],
  'import-system': ['info', 'not granted'],
  'import-no-queries': ['info', 'not granted'],
  'import-no-principal': ['info', 'nothing is granted'],
  'import-principals': ['info', 'users are whom their tokens name'],
} as const;

/** A finding about a rule, or about the whole file. */
export function importFinding(
  code: ImportCode,
  people: readonly string[],
  what: readonly string[],
  why: string,
  { rule, at }: Pick<ImportFinding, 'rule' | 'at'>,
): ImportFinding {
  const [severity, instead] = IMPORT_CODES[code];
  return { code, severity, people: [...people], what: [...what], why, instead, rule, at };
}

/** Order by severity, then by place. */
export function compareFindings(a: ImportFinding, b: ImportFinding): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.at - b.at;
}

/** Lines that describe lost access, without the first one, which names the users. */
export function lossLines(lost: AccessDifference[]): string[] {
  return accessDiffLines({ gained: [], lost })
    .slice(1)
    .map((line) => line.trim());
}

export function propertiesText(differences: readonly AccessDifference[]): string {
  const properties = differences.flatMap(({ fact }) => (fact.about === 'session-property' ? [fact] : []));
  const spelledPaths = properties.flatMap(({ catalog, property }) => {
    const path = catalog === null ? [property] : [catalog, property];
    return path.some((name) => displayName(name, '…').includes('…')) ? [] : [path.join('.')];
  });
  const names = [...new Set(spelledPaths)];
  return `SET SESSION ${spelledPaths.length === properties.length ? names.join(', ') : [...names, 'any property'].join(', ')}`;
}
