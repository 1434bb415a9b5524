import fc from 'fast-check';

/** One thing that the engine's access control can be asked; the Java side knows the same words. */
export type Question =
  | { ask: 'catalog' | 'show-schemas'; user: string; catalog: string }
  | { ask: 'create-schema' | 'drop-schema' | 'show-tables'; user: string; catalog: string; schema: string }
  | { ask: ColumnAct; user: string; catalog: string; schema: string; table: string; columns: string[] }
  | { ask: TableAct; user: string; catalog: string; schema: string; table: string }
  /** `ALTER TABLE … EXECUTE` on a table of these columns: all that anything is said about. */
  | { ask: 'table-procedure'; user: string; catalog: string; schema: string; table: string; columns: string[] }
  | { ask: 'mask'; user: string; catalog: string; schema: string; table: string; name: string }
  | { ask: 'filter-catalogs'; user: string; names: string[] }
  | { ask: 'filter-schemas'; user: string; catalog: string; names: string[] }
  | { ask: 'filter-tables'; user: string; catalog: string; schema: string; names: string[] }
  | { ask: 'filter-columns'; user: string; catalog: string; schema: string; table: string; names: string[] }
  | { ask: 'execute-query' | 'read-system' | 'write-system'; user: string }
  | { ask: 'view-query' | 'kill-query' | 'impersonate' | 'system-property'; user: string; name: string }
  | { ask: RoutineAct; user: string; catalog: string; schema: string; name: string }
  | { ask: 'catalog-property'; user: string; catalog: string; name: string };

/** About what only rules of other files than Grantline's give. */
export type RareQuestion =
  | { ask: 'create-catalog'; user: string; catalog: string }
  | { ask: 'become-user' | 'become-role'; user: string; catalog: string; schema: string; name: string };

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

/** The words of one snapshot, from which its questions are put together. */
export interface Words {
  users: readonly string[];
  /** Questions with interesting answers, besides random ones. */
  preferred: readonly PreferredQuestion[];
  catalogs: readonly string[];
  schemas: readonly string[];
  tables: readonly string[];
  columns: readonly string[];
  properties: readonly string[];
}

export interface PreferredQuestion {
  user: string;
  node: { catalog: string; schema: string; table: string };
  column: string;
  otherUser: string;
}

export function anyQuestion(words: Words): fc.Arbitrary<Question> {
  const one = <const Ask extends Question['ask']>(...asks: Ask[]) => fc.constantFrom(...asks);
  const some = (names: readonly string[]) => fc.subarray([...names], { maxLength: Math.min(4, names.length) });
  const asked = fc.record({
    user: fc.constantFrom(...words.users),
    node: fc.record({
      catalog: fc.constantFrom(...words.catalogs),
      schema: fc.constantFrom(...words.schemas),
      table: fc.constantFrom(...words.tables),
    }),
    columns: some(words.columns),
    column: fc.constantFrom(...words.columns),
    otherUser: fc.constantFrom(...words.users),
    property: fc.constantFrom(...words.properties),
    catalogs: some(words.catalogs),
    schemas: some(words.schemas),
    tables: some(words.tables),
  });
  const preferred =
    words.preferred.length === 0 ? fc.constant({}) : fc.oneof(fc.constant({}), fc.constantFrom(...words.preferred));
  return fc
    .tuple(asked, preferred, one(...EVERY_ACT))
    .map(([given, better, ask]) => question(ask, { ...given, ...better, everyColumn: [...words.columns] }));
}

interface Asked extends PreferredQuestion {
  columns: string[];
  everyColumn: string[];
  property: string;
  catalogs: string[];
  schemas: string[];
  tables: string[];
}

function question(ask: Question['ask'], asked: Asked): Question {
  const { user, node, columns } = asked;
  const { catalog, schema, table } = node;
  switch (ask) {
    case 'catalog':
    case 'show-schemas':
      return { ask, user, catalog };
    case 'create-schema':
    case 'drop-schema':
    case 'show-tables':
      return { ask, user, catalog, schema };
    case 'select':
    case 'update':
    case 'view-with-select':
      return { ask, user, ...node, columns };
    case 'table-procedure':
      return { ask, user, ...node, columns: asked.everyColumn };
    case 'mask':
      return { ask, user, ...node, name: asked.column };
    case 'filter-catalogs':
      return { ask, user, names: [...new Set([...asked.catalogs, catalog])] };
    case 'filter-schemas':
      return { ask, user, catalog, names: [...new Set([...asked.schemas, schema])] };
    case 'filter-tables':
      return { ask, user, catalog, schema, names: [...new Set([...asked.tables, table])] };
    case 'filter-columns':
      return { ask, user, ...node, names: columns };
    case 'execute-query':
    case 'read-system':
    case 'write-system':
      return { ask, user };
    case 'view-query':
    case 'kill-query':
    case 'impersonate':
      return { ask, user, name: asked.otherUser };
    case 'system-property':
      return { ask, user, name: asked.property };
    case 'catalog-property':
      return { ask, user, catalog, name: asked.property };
    case 'function':
    case 'view-with-function':
    case 'procedure':
      return { ask, user, catalog, schema, name: table };
    case 'insert':
    case 'delete':
    case 'truncate':
    case 'create-table':
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
    case 'show-columns':
    case 'filters':
      return { ask, user, ...node };
  }
}

/** Acts on tables are repeated, because most faults concern them. */
const EVERY_ACT: readonly Question['ask'][] = [
  ...(['catalog', 'show-schemas', 'create-schema', 'drop-schema', 'show-tables'] as const),
  ...(['select', 'select', 'select', 'view-with-select', 'view-with-select', 'update', 'insert', 'delete'] as const),
  ...([
    'table-procedure',
    'table-procedure',
    'truncate',
    'create-table',
    'drop-table',
    'create-view',
    'drop-view',
    'show-columns',
  ] as const),
  ...([
    'filters',
    'filters',
    'mask',
    'mask',
    'filter-columns',
    'filter-tables',
    'filter-schemas',
    'filter-catalogs',
  ] as const),
  ...([
    'execute-query',
    'view-query',
    'view-query',
    'kill-query',
    'kill-query',
    'read-system',
    'read-system',
    'write-system',
    'write-system',
    'impersonate',
    'impersonate',
  ] as const),
  ...(['function', 'view-with-function', 'procedure', 'system-property', 'catalog-property'] as const),
];
