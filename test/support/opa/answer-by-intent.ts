import { decide } from '../../../src/trino-rules/model/decision.js';
import { type DataIntent, intentAt } from '../../../src/trino-rules/model/intent.js';
import { KILL_QUERY, type Node, nodeOf } from '../../../src/trino-rules/model/node.js';
import type { Principal } from '../../../src/trino-rules/model/principal.js';
import { Principals } from '../../../src/trino-rules/model/principals.js';
import { PRIVILEGE_TERMS, privilegesGivenBy } from '../../../src/trino-rules/model/privilege.js';
import type { Question } from '../../../src/trino-rules/model/question.js';
import { concernsCatalogOf, restrictsReading } from '../../../src/trino-rules/model/restrictions.js';
import { catalogMode } from '../../../src/trino-rules/model/rights.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import type { PluginQuestion, Resource } from './plugin-question.js';

/** Answers as the plugin reads them: yes or no, indexes, filters, masks by index; undefined where nothing is asked in earnest. */
export class IntentAnswers {
  private readonly principals: Principals;
  private readonly resources: readonly Node[];
  private readonly known = new Map<string, unknown>();

  constructor(private readonly snapshot: Snapshot) {
    this.principals = new Principals(snapshot);
    const { grants, policies } = snapshot;
    this.resources = [...grants, ...policies].map(({ resource }) => nodeOf(resource));
  }

  answer({ entryPoint, user, action }: PluginQuestion): unknown {
    const { operation, resource = {}, targetResource, filterResources = [] } = action;
    switch (entryPoint) {
      case 'allow': {
        const answers = [resource, targetResource ?? []].flat().map((each) => {
          const allowed = this.allows(user, operation, each);
          return allowed === true ? this.mayUseFiles(user, each) : allowed;
        });
        return answers.includes(undefined) ? undefined : answers.every((each) => each === true);
      }
      case 'batch': {
        const [first] = filterResources;
        const candidates =
          operation === 'FilterColumns' && first?.table
            ? (first.table.columns ?? []).map(
                (column) => ({ table: { ...first.table, columns: [column] } }) as Resource,
              )
            : filterResources;
        return candidates.flatMap((each, i) => (this.allows(user, operation, each) === true ? [i] : []));
      }
      case 'rowFilters': {
        const { table } = resource;
        if (table === undefined || isCanary(this.snapshot, user, table)) return undefined;
        const { privileges, filters } = this.at(user, table);
        if (privileges.length === 0 && table.schemaName !== 'information_schema') return undefined;
        return table.schemaName === 'information_schema' ? [] : filters.map((expression) => ({ expression }));
      }
      case 'columnMask':
        return resource.column && this.mask(user, resource.column);
      case 'batchColumnMasks': {
        const masks = filterResources.map(({ column }) => column && this.mask(user, column));
        if (masks.includes(undefined)) return undefined;
        return masks.flatMap((viewExpression, index) => (viewExpression === null ? [] : [{ index, viewExpression }]));
      }
    }
  }

  private mask(user: string, column: NonNullable<Resource['column']>): { expression: string } | null | undefined {
    if (isCanary(this.snapshot, user, column)) return undefined;
    if (column.schemaName === 'information_schema') return null;
    const { privileges, masks } = this.at(user, column);
    if (privileges.length === 0) return undefined;
    const text = masks.find((mask) => mask.column === column.columnName)?.expression;
    if (text === undefined) return null;
    const isType = /^(?:[\w ,()]|"[^"]*")+$/.test(column.columnType);
    return { expression: isType ? `CAST((${text}) AS ${column.columnType})` : text };
  }

  /** Undefined: the engine asks no such question. */
  private allows(user: string, operation: string, resource: Resource): boolean | undefined {
    const { snapshot } = this;
    const { ownAccount, readersMaintain } = snapshot.settings;
    const { table, schema, catalog, function: routine } = resource;
    const other = resource.user?.user;
    const held = (): Set<string> => this.held(user, table);
    const listed = (): boolean =>
      table?.schemaName === 'information_schema' ? this.enters(user, table.catalogName) : held().size > 0;
    const hidesNone = (): boolean => {
      const hidden =
        table === undefined || table.schemaName === 'information_schema' ? [] : this.at(user, table).hiddenColumns;
      return (table?.columns ?? []).every((column) => !hidden.includes(column));
    };
    const runs = (privilege: 'EXECUTE' | 'GRANT_EXECUTE', kind: 'function' | 'procedure'): boolean =>
      this.may(user, {
        about: 'routine',
        kind,
        privilege,
        resource: nodeOf({
          catalog: routine?.catalogName,
          schema: routine?.schemaName,
          routine: routine?.functionName,
        }),
      });
    const owns = (): boolean =>
      schema !== undefined &&
      schema.schemaName !== 'information_schema' &&
      this.may(user, {
        about: 'schema-ownership',
        resource: { catalog: schema.catalogName, schema: schema.schemaName },
      });
    switch (operation) {
      case 'ExecuteQuery':
        return this.may(user, { about: 'queries', right: 'execute' });
      case 'ImpersonateUser':
        return other === user ? undefined : this.may(user, { about: 'impersonation', newUser: other ?? '' });
      case 'ViewQueryOwnedBy':
      case 'FilterViewQueryOwnedBy':
        return other === user || this.may(user, { about: 'queries', right: 'view', owner: other });
      case 'KillQueryOwnedBy':
        return other === user || this.may(user, { about: 'queries', right: 'kill', owner: other });
      case 'ReadSystemInformation':
        return this.may(user, { about: 'system-information', right: 'read' });
      case 'WriteSystemInformation':
        return this.may(user, { about: 'system-information', right: 'write' });
      case 'SetSystemSessionProperty': {
        const property = resource.systemSessionProperty?.name ?? '';
        if (property.startsWith('grantline_rules_')) return user === ownAccount;
        return this.may(user, { about: 'session-property', property, catalog: null });
      }
      case 'SetCatalogSessionProperty': {
        const { catalogName = '', propertyName = '' } = resource.catalogSessionProperty ?? {};
        return this.may(user, { about: 'session-property', property: propertyName, catalog: catalogName });
      }
      case 'AccessCatalog':
      case 'FilterCatalogs':
      case 'ShowSchemas':
        return this.enters(user, catalog?.name ?? '');
      case 'FilterSchemas':
      case 'ShowTables':
      case 'ShowFunctions':
        return this.showsSchema(user, schema?.catalogName ?? '', schema?.schemaName ?? '');
      case 'FilterTables':
      case 'ShowColumns':
        return listed();
      case 'FilterColumns':
        return listed() && hidesNone();
      case 'SelectFromColumns':
        return table?.schemaName === 'information_schema' ? listed() : held().has('SELECT') && hidesNone();
      case 'CreateViewWithSelectFromColumns':
        return held().has('GRANT_SELECT') && hidesNone();
      case 'InsertIntoTable':
        return held().has('INSERT');
      case 'UpdateTableColumns':
      case 'RefreshMaterializedView':
        return held().has('UPDATE');
      case 'DeleteFromTable':
      case 'TruncateTable':
        return held().has('DELETE');
      case 'ExecuteTableProcedure': {
        const changes = ['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP'].some((right) => held().has(right));
        if (routine?.functionName.toLowerCase().startsWith('add_files') === true)
          return changes && !this.isRestrictedIn(user, table?.catalogName ?? '');
        return changes || (readersMaintain && held().has('SELECT'));
      }
      case 'ShowBranches':
        return held().size > 0;
      case 'CreateBranch':
      case 'DropBranch':
      case 'FastForwardBranch':
        return held().has('OWNERSHIP') || ['INSERT', 'UPDATE', 'DELETE'].every((right) => held().has(right));
      case 'CreateSchema':
      case 'DropSchema':
      case 'RenameSchema':
      case 'ShowCreateSchema':
        return owns();
      case 'ExecuteFunction':
      case 'FilterFunctions':
      case 'ShowCreateFunction':
        return runs('EXECUTE', 'function');
      case 'CreateViewWithExecuteFunction':
        return runs('GRANT_EXECUTE', 'function');
      case 'ExecuteProcedure':
        return runs('EXECUTE', 'procedure');
    }
    return OWNED.test(operation) && held().has('OWNERSHIP');
  }

  /** Whether the properties name no files, or a user may read any in the catalog. */
  private mayUseFiles(user: string, { table, schema }: Resource): boolean {
    return [table, schema].every(
      (at) =>
        Object.keys(at?.properties ?? {}).every((name) => !/location|path|url/i.test(name)) ||
        !this.isRestrictedIn(user, at?.catalogName ?? ''),
    );
  }

  private may(user: string, question: Question): boolean {
    const principal = this.named(user);
    return principal !== null && decide(this.snapshot, principal, question, this.principals).allowed;
  }

  /** The engine's privileges at a table. */
  private held(user: string, table: Resource['table']): Set<string> {
    if (table === undefined || table.schemaName === 'information_schema') return new Set();
    const held = privilegesGivenBy(this.at(user, table).privileges);
    return new Set([...held].flatMap((privilege) => PRIVILEGE_TERMS[privilege].tablePrivilege ?? []));
  }

  private at(user: string, at: { catalogName: string; schemaName: string; tableName: string }): DataIntent {
    return this.intent(user, { catalog: at.catalogName, schema: at.schemaName, table: at.tableName });
  }

  private intent(user: string, node: Node): DataIntent {
    const principal = this.named(user);
    return intentAt(this.snapshot, principal ?? NOBODY, node, this.principals);
  }

  private enters(user: string, catalog: string): boolean {
    const principal = this.named(user);
    const key = JSON.stringify([user, catalog]);
    if (!this.known.has(key))
      this.known.set(key, principal !== null && catalogMode(this.snapshot, principal, catalog) !== 'none');
    return this.known.get(key) === true;
  }

  /** Whether a schema has anything for a user: itself, or any node in it that a grant or a policy names. */
  private showsSchema(user: string, catalog: string, schema: string): boolean {
    if (schema === 'information_schema') return this.enters(user, catalog);
    const named = [KILL_QUERY, ...this.resources].filter((node) => node.catalog === catalog && node.schema === schema);
    return [{ catalog, schema }, ...named].some((node) => this.intent(user, node).privileges.length > 0);
  }

  /** Whether reading is restricted for a user anywhere in a catalog or on everything. */
  private isRestrictedIn(user: string, catalog: string): boolean {
    const principal = this.named(user);
    return this.snapshot.policies.some(
      (policy) =>
        principal !== null &&
        restrictsReading(policy) &&
        concernsCatalogOf({ catalog }, policy) &&
        this.principals.policyAppliesThrough(policy, principal) !== null,
    );
  }

  private named(name: string): Principal | null {
    const { users, groups, settings, grants, policies } = this.snapshot;
    const person = users.find((user) => user.name === name);
    if (person) return { type: 'user', id: person.id };
    const isEngine = [...grants, ...policies].some(
      ({ principal }) => principal.type === 'engine' && principal.name === name,
    );
    const isInGroup = groups.some(({ engines }) => engines.includes(name));
    return isEngine || isInGroup || settings.serviceAccounts.includes(name) ? { type: 'engine', name } : null;
  }
}

const NOBODY: Principal = { type: 'user', id: -1 };
const OWNED =
  /^((Create|Drop|Rename)(Table|View|MaterializedView)|Set(Table|MaterializedView)Properties|Set(Table|View|MaterializedView|Column)Comment|(Add|Alter|Drop|Rename)Column|ShowCreateTable)$/;

/** The canary has a test of its own. */
function isCanary(
  { settings }: Snapshot,
  user: string,
  at: { catalogName: string; schemaName: string; tableName: string },
): boolean {
  return (
    user === settings.ownAccount &&
    [at.catalogName, at.schemaName, at.tableName].join('.') === 'system.jdbc.table_types'
  );
}
