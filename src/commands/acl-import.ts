import { snapshotSettings } from '../grants/domain/snapshot-store.js';
import { SystemClock } from '../kernel/clock.js';
import { firstNames } from '../kernel/name.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import type { ImportFinding } from '../rules-files/import/import-finding.js';
import { provenImport } from '../rules-files/import/proven-import.js';
import { compareNames } from '../trino-rules/model/node.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { type ExportedSnapshot, exportSnapshot } from '../trino-rules/model/snapshot-export.js';
import { readSnapshot, type SnapshotDefaults } from '../trino-rules/model/snapshot-file.js';
import { importBudget, type Place, readForeignRulesFile, withinBudget } from './foreign-rules-file.js';
import { bytesOf, writeResult } from './files.js';
import { placedLines, printDocument, printJson, remark, Unusable } from './output.js';
import { formatNamed, structuredText } from './structured-file.js';
import { entryLines, listProblem, readUserList, readUsers, type UserLine } from './users-file.js';
import type { ListedName } from '../rules-files/import/named-nodes.js';

interface Options {
  users: string;
  catalog?: string;
  out?: string;
  json?: true;
}

/** A finding with its place, as the command's JSON has it. */
type PlacedImportFinding = Omit<ImportFinding, 'at'> & Place;

/**
 * Converts a rules file to a snapshot that gives the users of a list the same access, proved by comparison. Exit code 0: the same access;
 * 1: grants cannot express some of it, which is listed; 2: a file cannot be read or the engine refuses it, and nothing is written.
 */
export async function importRulesFile(path: string, { users, catalog, out, json }: Options): Promise<number> {
  const settings = await loadSettings('acl import');
  const defaults = { settings: snapshotSettings(settings), at: new SystemClock().now() };
  const [bytes, list] = [bytesOf(path), readUserList(users)];
  const { names: listing, problems: faults } = readListing(catalog === undefined ? '' : readUserList(catalog));
  if (faults.length > 0) throw new Unusable(faults.map(({ line, message }) => `${catalog}:${line}:1 ${message}`));
  const listed = readUsers(list);
  const problem = listProblem(listed);
  const problems = problem === null ? nameProblems(listed, defaults) : [problem];
  const rules = await readForeignRulesFile(bytes);
  const ofList = problems.map(({ line, message }) => `${users}:${line}:1 ${message}`);
  if (rules.kind === 'refused') throw new Unusable([...ofList, ...placedLines(path, rules.problems)]);
  if (ofList.length > 0) throw new Unusable(ofList);
  const imported = withinBudget(
    `${path}: the rules combine more names and users than can be compared; import for fewer users`,
    () => provenImport(rules, listed, defaults, importBudget(rules), listing),
  );
  const findings = imported.findings.map(({ at, ...finding }) => ({ ...finding, ...rules.placeOf(at) }));
  const file = exportedImport(imported.snapshot);
  const text = structuredText(file, formatNamed(out));
  if (out !== undefined) await writeResult(out, `${text}\n`, settings.acl.fileMode);
  if (json) printJson({ snapshot: file, findings });
  else if (out === undefined) printDocument(text);
  if (!json) for (const finding of findings) findingLines(path, finding).forEach(remark);
  return findings.some(({ severity }) => severity !== 'info') ? 1 : 0;
}

/** In a snapshot file everyone means the users that it names. So a file with a grant to everyone names all users of the list. */
function exportedImport(snapshot: Snapshot): ExportedSnapshot {
  const file = exportSnapshot(snapshot);
  if (!snapshot.grants.some(({ principal }) => principal.type === 'everyone')) return file;
  const users = snapshot.users.map(({ name }) => ({ name })).sort((a, b) => compareNames(a.name, b.name));
  return { ...file, users };
}

/** Problems of names that are invalid for accounts or engine principals. */
function nameProblems(listed: readonly UserLine[], defaults: SnapshotDefaults): { line: number; message: string }[] {
  const [engines, people] = [
    listed.filter(({ isEngine }) => isEngine === true),
    listed.filter(({ isEngine }) => isEngine !== true),
  ];
  const members = engines.map(({ name }) => ({ engine: name }));
  const users = people.map(({ name }) => ({ name }));
  const read = readSnapshot({ version: 1, users, groups: [{ name: 'engines', members }] }, defaults);
  if (read.kind === 'read') return [];
  return read.problems.map(({ path, message }) => {
    const [, list = '', index = ''] = /^(users|groups\[0\][.]members)\[(\d+)\]/.exec(path) ?? [];
    const user = (list === 'users' ? people : engines)[Number(index)];
    return { line: user?.line ?? 1, message: `${JSON.stringify(user?.name ?? '')} ${message}` };
  });
}

/** The most users that a heading names; `--json` has all of them. */
const MOST_NAMED = 20;

/** One line with place, rule, users, the import's choice and its reason, then a line for each access concerned. */
function findingLines(path: string, finding: PlacedImportFinding): string[] {
  const { severity, people, what, why, instead, rule, line, column } = finding;
  const place = `${path}:${line}:${column} ${severity === 'warning' ? '' : `${severity}: `}`;
  const about = [
    ...(rule === null ? [] : [rule]),
    ...(people.length === 0 ? [] : [firstNames(people, MOST_NAMED)]),
  ].join(' ');
  const head = `${place}${about}: ${instead}, because ${why}:`;
  return [head, ...what.map((each) => `  ${each}`)];
}

/** A field of a CSV row: quoted, as the engine's command line prints rows (`"lake","eu","orders"`), or unquoted. */
const FIELD = /^\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(?:,|$)/;

/** The first column's name in `system.jdbc.tables`, `information_schema.tables` and `information_schema.schemata`. */
const HEADER = /^(?:table_cat|table_catalog|catalog_name)$/i;

/**
 * Reads a listing of the engine's catalogs, schemas and tables: one name per line (`catalog.schema.table`, `catalog.schema` or `catalog`),
 * or CSV rows with or without a header. Skips blank lines and lines that begin with `#`.
 */
export function readListing(text: string): { names: ListedName[]; problems: { line: number; message: string }[] } {
  const names: ListedName[] = [];
  const problems: { line: number; message: string }[] = [];
  for (const { text: written, line } of entryLines(text)) {
    const parts = /[",]/.test(written) ? fieldsOf(written) : written.split('.');
    if (parts !== null && HEADER.test(parts[0] ?? '')) continue;
    const [catalog = '', schema, table, ...more] = (parts ?? []).map((part) => part.toLowerCase());
    if (catalog === '' || schema === '' || table === '' || more.length > 0)
      problems.push({ line, message: 'is neither catalog.schema.table nor a row of these three' });
    else names.push({ catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) });
  }
  return { names, problems };
}

function fieldsOf(line: string): string[] | null {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    const [found = '', quoted, bare = ''] = FIELD.exec(rest) ?? [];
    if (found === '') return null;
    fields.push(quoted?.replaceAll('""', '"') ?? bare);
    rest = rest.slice(found.length);
    if (!found.endsWith(',') || rest === '') return fields;
  }
}
