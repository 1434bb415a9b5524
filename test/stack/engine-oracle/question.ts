import fc from 'fast-check';

/** One thing that the engine's access control can be asked; the Java side knows the same words. */
export type Question =
  | { ask: 'catalog' | 'show-schemas'; user: string; catalog: string }
  | { ask: 'create-schema' | 'drop-schema' | 'show-tables'; user: string; catalog: string; schema: string }
  | { ask: ColumnAct; user: string; catalog: string; schema: string; table: string; columns: string[] }
  | { ask: TableAct; user: string; catalog: string; schema: string; table: string }
  | { ask: 'mask'; user: string; catalog: string; schema: string; table: string; name: string }
  | { ask: 'filter-catalogs'; user: string; names: string[] }
  | { ask: 'filter-schemas'; user: string; catalog: string; names: string[] }
  | { ask: 'filter-tables'; user: string; catalog: string; schema: string; names: string[] }
  | { ask: 'filter-columns'; user: string; catalog: string; schema: string; table: string; names: string[] }
  | { ask: 'execute-query'; user: string }
  | { ask: 'view-query' | 'kill-query' | 'impersonate' | 'system-property'; user: string; name: string }
  | { ask: RoutineAct; user: string; catalog: string; schema: string; name: string }
  | { ask: 'catalog-property'; user: string; catalog: string; name: string };

export type ColumnAct = 'select' | 'update' | 'view-with-select';
export type TableAct =
  | 'insert'
  | 'delete'
  | 'truncate'
  | 'create-table'
  | 'drop-table'
  | 'create-view'
  | 'drop-view'
  | 'show-columns'
  | 'filters';
export type RoutineAct = 'function' | 'view-with-function' | 'procedure';

/** Yes, no, a mask or none, filters, or the names that a listing shows (sorted). */
export type Answer = boolean | string | null | readonly string[];

/** The words of one world, from which its questions are put together. */
export interface Words {
  users: readonly string[];
  catalogs: readonly string[];
  schemas: readonly string[];
  tables: readonly string[];
  columns: readonly string[];
  properties: readonly string[];
}

export function anyQuestion(words: Words): fc.Arbitrary<Question> {
  const user = fc.constantFrom(...words.users);
  const catalog = fc.constantFrom(...words.catalogs);
  const schema = fc.constantFrom(...words.schemas);
  const table = fc.constantFrom(...words.tables);
  const name = fc.constantFrom(...words.users);
  const one = <const Ask extends Question['ask']>(...asks: Ask[]) => fc.constantFrom(...asks);
  const some = (names: readonly string[]) => fc.subarray([...names], { maxLength: Math.min(4, names.length) });
  const where = { user, catalog, schema, table };
  const byWeight: [number, fc.Arbitrary<Question>][] = [
    [2, fc.record({ ask: one('catalog', 'show-schemas'), user, catalog })],
    [3, fc.record({ ask: one('create-schema', 'drop-schema', 'show-tables'), user, catalog, schema })],
    [8, fc.record({ ...where, ask: one('select', 'update', 'view-with-select'), columns: some(words.columns) })],
    [8, fc.record({ ...where, ask: one(...TABLE_ACTS) })],
    [3, fc.record({ ...where, ask: one('mask'), name: fc.constantFrom(...words.columns) })],
    [1, fc.record({ ask: one('filter-catalogs'), user, names: some(words.catalogs) })],
    [1, fc.record({ ask: one('filter-schemas'), user, catalog, names: some(words.schemas) })],
    [2, fc.record({ ask: one('filter-tables'), user, catalog, schema, names: some(words.tables) })],
    [2, fc.record({ ...where, ask: one('filter-columns'), names: some(words.columns) })],
    [1, fc.record({ ask: one('execute-query'), user })],
    [2, fc.record({ ask: one('view-query', 'kill-query', 'impersonate'), user, name })],
    [1, fc.record({ ask: one('system-property'), user, name: fc.constantFrom(...words.properties) })],
    [2, fc.record({ ask: one('function', 'view-with-function', 'procedure'), user, catalog, schema, name: table })],
    [1, fc.record({ ask: one('catalog-property'), user, catalog, name: fc.constantFrom(...words.properties) })],
  ];
  return fc.oneof(...byWeight.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const TABLE_ACTS = [
  'insert',
  'delete',
  'truncate',
  'create-table',
  'drop-table',
  'create-view',
  'drop-view',
  'show-columns',
  'filters',
] as const satisfies readonly TableAct[];
