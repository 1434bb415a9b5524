import type { ListedName } from '../rules-files/import/known-names.js';
import { entryLines } from './entry-lines.js';
import { remark } from './output.js';
import { readUserList } from './users-file.js';

/** `"lake","eu","orders"`, as the engine's own command line prints rows; or bare. */
const FIELD = /^\s*(?:"((?:[^"]|"")*)"|([^",]*?))\s*(?:,|$)/;

/** The columns of `system.jdbc.tables`, `information_schema.tables` and `information_schema.schemata`. */
const HEADER = /^(?:table_cat|table_catalog|catalog_name)$/i;

/**
 * What the engine has, a name a line: `catalog.schema.table`, `catalog.schema` or `catalog`; or the rows of an answer as CSV, with a header
 * or without. Blank lines and lines that begin with `#` are skipped.
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

/** The names of a file that the command line names. Null: it cannot be read, and each problem has been printed. */
export function readListingFile(path: string): ListedName[] | null {
  const text = readUserList(path);
  if (text === null) return null;
  const { names, problems } = readListing(text);
  for (const { line, message } of problems) remark(`${path}:${line}:1 ${message}`);
  return problems.length === 0 ? names : null;
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
