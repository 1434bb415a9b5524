import { snapshotSettings } from '../grants/domain/snapshot-store.js';
import { SystemClock } from '../kernel/clock.js';
import { namesText } from '../kernel/name.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import type { ImportFinding } from '../rules-files/import/import-finding.js';
import { provenImport } from '../rules-files/import/proven-import.js';
import { compareNames } from '../trino-rules/model/node.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { type ExportedSnapshot, exportSnapshot } from '../trino-rules/model/snapshot-export.js';
import { readSnapshot, type SnapshotDefaults } from '../trino-rules/model/snapshot-file.js';
import { importBudget, type Place, readForeignRulesFile, withinBudget } from './foreign-rules-file.js';
import { readBytes, writeResult } from './files.js';
import { placedLines, printDocument, printJson, printRemark, UnusableInput } from './output.js';
import { formatOfFile, structuredText } from './structured-file.js';
import { entryLines, listProblem, readUserList, readUsers, type UserLine } from './users-file.js';
import type { ListedName } from '../rules-files/import/named-nodes.js';

interface Options {
  users: string;
  catalog?: string;
  out?: string;
  json?: true;
}

type PlacedImportFinding = Omit<ImportFinding, 'at'> & Place;

/**
 * Converts a rules file to a snapshot that gives the users of a list the same access, proved by comparison. Exit code 0: the same access;
 * 1: grants cannot express all of it, and the rest is printed; 2: a file cannot be read or the engine refuses it, and nothing is written.
 */
export async function importRulesFile(path: string, { users, catalog, out, json }: Options): Promise<number> {
  const settings = await loadSettings('acl import');
  const snapshotDefaults = { settings: snapshotSettings(settings), at: new SystemClock().now() };
  const [bytes, userList] = [readBytes(path), readUserList(users)];
  const { names: listing, problems: faults } = readListing(catalog === undefined ? '' : readUserList(catalog));
  if (faults.length > 0) throw new UnusableInput(faults.map(({ line, message }) => `${catalog}:${line}:1 ${message}`));
  const listedUsers = readUsers(userList);
  const problem = listProblem(listedUsers);
  const problems = problem === null ? nameProblems(listedUsers, snapshotDefaults) : [problem];
  const rulesFile = await readForeignRulesFile(bytes);
  const listProblems = problems.map(({ line, message }) => `${users}:${line}:1 ${message}`);
  if (rulesFile.kind === 'refused')
    throw new UnusableInput([...listProblems, ...placedLines(path, rulesFile.problems)]);
  if (listProblems.length > 0) throw new UnusableInput(listProblems);
  const importResult = withinBudget(
    `${path}: the rules combine more names and users than can be compared; import for fewer users`,
    () => provenImport(rulesFile, listedUsers, snapshotDefaults, importBudget(rulesFile), listing),
  );
  const findings = importResult.findings.map(({ at, ...finding }) => ({ ...finding, ...rulesFile.placeOf(at) }));
  const snapshotFile = exportedImport(importResult.snapshot);
  const snapshotText = structuredText(snapshotFile, formatOfFile(out));
  if (out !== undefined) await writeResult(out, `${snapshotText}\n`, settings.acl.fileMode);
  if (json) printJson({ snapshot: snapshotFile, findings });
  else if (out === undefined) printDocument(snapshotText);
  if (!json) for (const finding of findings) findingLines(path, finding).forEach(printRemark);
  return findings.some(({ severity }) => severity !== 'info') ? 1 : 0;
}

/** In a snapshot file, *everyone* means all users that the file names. A file with a grant to everyone must therefore name all users. */
function exportedImport(snapshot: Snapshot): ExportedSnapshot {
  const file = exportSnapshot(snapshot);
  if (!snapshot.grants.some(({ principal }) => principal.type === 'everyone')) return file;
  const users = snapshot.users.map(({ name }) => ({ name })).sort((a, b) => compareNames(a.name, b.name));
  return { ...file, users };
}

/** Problems of names that are invalid for accounts or engine principals. */
function nameProblems(userLines: readonly UserLine[], defaults: SnapshotDefaults): { line: number; message: string }[] {
  const [engineLines, personLines] = [
    userLines.filter(({ isEngine }) => isEngine === true),
    userLines.filter(({ isEngine }) => isEngine !== true),
  ];
  const members = engineLines.map(({ name }) => ({ engine: name }));
  const users = personLines.map(({ name }) => ({ name }));
  const reading = readSnapshot({ version: 1, users, groups: [{ name: 'engines', members }] }, defaults);
  if (reading.kind === 'read') return [];
  return reading.problems.map(({ path, message }) => {
    const [, listName = '', index = ''] = /^(users|groups\[0\][.]members)\[(\d+)\]/.exec(path) ?? [];
    const user = (listName === 'users' ? personLines : engineLines)[Number(index)];
    return { line: user?.line ?? 1, message: `${JSON.stringify(user?.name ?? '')} ${message}` };
  });
}

/** The most users that a heading names; `--json` has all of them. */
const MAX_SHOWN_NAMES = 20;

/** A line with place, rule, users, what the import does and why, then a line for each access in the finding. */
function findingLines(path: string, finding: PlacedImportFinding): string[] {
  const { severity, people, what, why, instead, rule, line, column } = finding;
  const placeText = `${path}:${line}:${column} ${severity === 'warning' ? '' : `${severity}: `}`;
  const subjectText = [
    ...(rule === null ? [] : [rule]),
    ...(people.length === 0 ? [] : [namesText(people, MAX_SHOWN_NAMES)]),
  ].join(' ');
  const headLine = `${placeText}${subjectText}: ${instead}, because ${why}:`;
  return [headLine, ...what.map((each) => `  ${each}`)];
}

/** A field of a CSV row: quoted, as the engine's command line prints rows (`"lake","eu","orders"`), or unquoted. */
const CSV_FIELD = /^\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(?:,|$)/;

/** The first column's name in `system.jdbc.tables`, `information_schema.tables` and `information_schema.schemata`. */
const HEADER_CELL = /^(?:table_cat|table_catalog|catalog_name)$/i;

/**
 * Reads a listing of the engine's catalogs, schemas and tables: one name per line (`catalog.schema.table`, `catalog.schema` or `catalog`),
 * or CSV rows with or without a header. Skips blank lines and lines that begin with `#`.
 */
export function readListing(text: string): { names: ListedName[]; problems: { line: number; message: string }[] } {
  const names: ListedName[] = [];
  const problems: { line: number; message: string }[] = [];
  for (const { text: entryText, line } of entryLines(text)) {
    const nameParts = /[",]/.test(entryText) ? fieldsOf(entryText) : entryText.split('.');
    if (nameParts !== null && HEADER_CELL.test(nameParts[0] ?? '')) continue;
    const [catalog = '', schema, table, ...extraParts] = (nameParts ?? []).map((part) => part.toLowerCase());
    if (catalog === '' || schema === '' || table === '' || extraParts.length > 0)
      problems.push({ line, message: 'is neither catalog.schema.table nor a row of these three' });
    else names.push({ catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) });
  }
  return { names, problems };
}

function fieldsOf(line: string): string[] | null {
  const fields: string[] = [];
  let remainingText = line;
  for (;;) {
    const [matchedText = '', quotedField, unquotedField = ''] = CSV_FIELD.exec(remainingText) ?? [];
    if (matchedText === '') return null;
    fields.push(quotedField?.replaceAll('""', '"') ?? unquotedField);
    remainingText = remainingText.slice(matchedText.length);
    if (!matchedText.endsWith(',') || remainingText === '') return fields;
  }
}
