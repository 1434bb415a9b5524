import { readFileSync } from 'node:fs';
import { groupBy } from '../../kernel/collections.js';
import { OPERATIONS, type Operation, RIGHT_LETTERS, type RightLetter } from './opa-operations.js';

describe('operations of the OPA plugin', () => {
  it('are listed in the documentation as they are decided', () => {
    expect(readFileSync('docs/opa-operations.md', 'utf8')).toContain(table());
  });

  it('need rights that have a letter', () => {
    const needed = Object.values(OPERATIONS).flatMap(({ needs = [] }) => Array.from(needs.join('')));
    expect(needed.filter((letter) => !Object.hasOwn(RIGHT_LETTERS, letter))).toEqual([]);
  });
});

/** One line for each way to decide, with all its operations. */
function table(): string {
  const lines = groupBy(
    Object.entries(OPERATIONS),
    ([, operation]) => `${ASKED[operation.asks](operation)}${more(operation)}`,
  );
  const rows = [...lines].map(([asked, operations]) => [operations.map(([name]) => `\`${name}\``).join(', '), asked]);
  const width = (column: number) => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0));
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(width(column))).join(' | ')} |`;
  return [line(HEAD), line([0, 1].map((column) => '-'.repeat(width(column)))), ...rows.map(line)].join('\n');
}

const HEAD = ['operations', 'allowed with'];

const ASKED: Record<Operation['asks'], (operation: Operation) => string> = {
  executing: () => 'access to anything',
  impersonation: () =>
    'IMPERSONATE of the user; the own account, if the user is an active person with access to anything',
  queries: ({ needs }) => `${rights(needs)} over the queries of the user`,
  engine: ({ needs }) => `${rights(needs)} on the engine`,
  'system-property': () => 'a service account; access to anything, for properties that the settings list',
  'catalog-property': () => 'a service account, in its catalogs',
  catalog: () => 'access to anything in the catalog',
  schema: () => 'access to anything in the schema',
  'schema-owner': ({ needs }) => `${rights(needs)} on the schema`,
  table: ({ needs }) => `${rights(needs)} on the table`,
  columns: ({ needs }) => `${rights(needs)} on the table, no column hidden`,
  'table-procedure': ({ needs }) => `${rights(needs)} on the table; also SELECT with \`ACL_READERS_MAINTAIN\``,
  routine: ({ needs }) => `${rights(needs)} on the routine`,
  nobody: () => 'nobody',
};

function rights(needs: readonly string[] = []): string {
  const named = needs.map((letters) =>
    Array.from(letters, (letter) => RIGHT_LETTERS[letter as RightLetter]).join(' and '),
  );
  return named.length === 6 ? 'any privilege' : named.join(' or ');
}

function more({ listing, target }: Operation): string {
  return `${listing === true ? '; in `information_schema` access to anything in the catalog' : ''}${target === true ? ', under both names' : ''}`;
}
