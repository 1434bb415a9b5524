/** How the policy decides an operation of Trino's OPA plugin. */
export interface Operation {
  /** The kind of question. The policy (`opa/policy/policy.rego`) has one rule for each kind. */
  asks:
    | 'executing'
    | 'engine'
    | 'queries'
    | 'impersonation'
    | 'system-property'
    | 'catalog-property'
    | 'catalog'
    | 'schema'
    | 'schema-owner'
    | 'table'
    | 'columns'
    | 'table-procedure'
    | 'routine'
    | 'nobody';
  /** Alternative sets of rights, as letters. A user needs all rights of one set. */
  needs?: readonly string[];
  /** Whether everybody who has some access in the catalog may perform the operation in `information_schema`. */
  listing?: true;
  /** Whether the request also names a target (the new name of a table), for which the user needs the same rights. */
  target?: true;
}

/** The letters of privileges in a bundle. Letters of one node are written in this order. */
export const RIGHT_LETTERS = {
  S: 'SELECT',
  I: 'INSERT',
  U: 'UPDATE',
  D: 'DELETE',
  G: 'GRANT_SELECT',
  O: 'SCHEMA_OWNERSHIP',
  T: 'TABLE_OWNERSHIP',
  F: 'EXECUTE_FUNCTION',
  H: 'GRANT_EXECUTE_FUNCTION',
  P: 'CALL_PROCEDURE',
  X: 'EXECUTE_QUERIES',
  V: 'VIEW_QUERIES',
  K: 'KILL_QUERIES',
  R: 'READ_SYSTEM_INFORMATION',
  W: 'WRITE_SYSTEM_INFORMATION',
  A: 'IMPERSONATE',
} as const;

export type RightLetter = keyof typeof RIGHT_LETTERS;

const VISIBILITY_RIGHTS = ['S', 'I', 'U', 'D', 'G', 'T'];

function operationByName(names: string, operation: Operation): Record<string, Operation> {
  return Object.fromEntries(names.split(' ').map((name) => [name, operation]));
}

/**
 * All operations of Trino's OPA plugin in the supported versions: from the source of 479, with the operations that 483 added for
 * branches and for comments of materialized views. The policy denies all others. Shared by policy, documentation and tests.
 */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...operationByName('ExecuteQuery', { asks: 'executing' }),
  ...operationByName('ImpersonateUser', { asks: 'impersonation', needs: ['A'] }),
  ...operationByName('ViewQueryOwnedBy FilterViewQueryOwnedBy', { asks: 'queries', needs: ['V'] }),
  ...operationByName('KillQueryOwnedBy', { asks: 'queries', needs: ['K'] }),
  ...operationByName('ReadSystemInformation', { asks: 'engine', needs: ['R'] }),
  ...operationByName('WriteSystemInformation', { asks: 'engine', needs: ['W'] }),
  ...operationByName('SetSystemSessionProperty', { asks: 'system-property' }),
  ...operationByName('SetCatalogSessionProperty', { asks: 'catalog-property' }),
  ...operationByName('AccessCatalog FilterCatalogs ShowSchemas', { asks: 'catalog' }),
  ...operationByName('FilterSchemas ShowTables ShowFunctions', { asks: 'schema' }),
  ...operationByName('FilterTables ShowColumns', { asks: 'table', needs: VISIBILITY_RIGHTS, listing: true }),
  ...operationByName('FilterColumns', { asks: 'columns', needs: VISIBILITY_RIGHTS, listing: true }),
  ...operationByName('SelectFromColumns', { asks: 'columns', needs: ['S'], listing: true }),
  ...operationByName('CreateViewWithSelectFromColumns', { asks: 'columns', needs: ['G'] }),
  ...operationByName('InsertIntoTable', { asks: 'table', needs: ['I'] }),
  ...operationByName('UpdateTableColumns RefreshMaterializedView', { asks: 'table', needs: ['U'] }),
  ...operationByName('DeleteFromTable TruncateTable', { asks: 'table', needs: ['D'] }),
  ...operationByName('CreateTable DropTable SetTableProperties SetTableComment ShowCreateTable', {
    asks: 'table',
    needs: ['T'],
  }),
  ...operationByName('AddColumn AlterColumn DropColumn RenameColumn SetColumnComment', { asks: 'table', needs: ['T'] }),
  ...operationByName('CreateView DropView SetViewComment', { asks: 'table', needs: ['T'] }),
  ...operationByName('CreateMaterializedView DropMaterializedView', { asks: 'table', needs: ['T'] }),
  ...operationByName('SetMaterializedViewProperties SetMaterializedViewComment', { asks: 'table', needs: ['T'] }),
  ...operationByName('RenameTable RenameView RenameMaterializedView', { asks: 'table', needs: ['T'], target: true }),
  ...operationByName('ExecuteTableProcedure', { asks: 'table-procedure', needs: ['I', 'U', 'D', 'T'] }),
  ...operationByName('ShowBranches', { asks: 'table', needs: VISIBILITY_RIGHTS }),
  ...operationByName('CreateBranch DropBranch FastForwardBranch', { asks: 'table', needs: ['IUD', 'T'] }),
  ...operationByName('CreateSchema DropSchema ShowCreateSchema', { asks: 'schema-owner', needs: ['O'] }),
  ...operationByName('RenameSchema', { asks: 'schema-owner', needs: ['O'], target: true }),
  ...operationByName('ExecuteFunction FilterFunctions ShowCreateFunction', { asks: 'routine', needs: ['F'] }),
  ...operationByName('CreateViewWithExecuteFunction', { asks: 'routine', needs: ['H'] }),
  ...operationByName('ExecuteProcedure', { asks: 'routine', needs: ['P'] }),
  ...operationByName('CreateCatalog DropCatalog CreateFunction DropFunction', { asks: 'nobody' }),
  ...operationByName('SetSchemaAuthorization SetTableAuthorization SetViewAuthorization', { asks: 'nobody' }),
};
