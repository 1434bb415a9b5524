import { NOW, SETTINGS } from '../support/snapshots/snapshot-builder.js';
import { readLeniently } from '../../src/rules-files/check/lenient-reader.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import type { SnapshotSettings } from '../../src/trino-rules/model/snapshot.js';
import type { ImportFinding } from '../../src/rules-files/import/import-finding.js';
import type { ListedName } from '../../src/rules-files/import/named-nodes.js';
import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { provenImport } from '../../src/rules-files/import/proven-import.js';

/** What the import makes of a text, for a list of users; proved within a budget. */
export const imported = (
  text: string,
  users: readonly (string | ListedUser)[],
  settings: SnapshotSettings = SETTINGS,
  listing: readonly ListedName[] = [],
) => {
  const { rules, at } = readLeniently(text);
  if (rules === null) throw new Error('no rules');
  const listed = users.map((user) => (typeof user === 'string' ? { name: user, groups: [] } : user));
  return provenImport({ rules, at }, listed, { settings, at: NOW }, new WorkBudget(300_000_000), listing);
};

/** Its findings, a line each. */
export const brief = ({ findings }: { findings: ImportFinding[] }) =>
  findings.map(({ code, people, what, rule }) => `${rule ?? '-'} ${code} ${people.join(', ')}: ${what.join('; ')}`);
