import type { FunctionPrivilege, TablePrivilege } from '../../../src/trino-rules/document/rules-document.js';
import { decide } from '../../../src/trino-rules/model/decision.js';
import {
  intentAt,
  allowsProceduresToReaders,
  NO_ACCESS,
  onlyReads,
  type Access,
} from '../../../src/trino-rules/model/intent.js';
import type { Principal } from '../../../src/trino-rules/model/principal.js';
import type * as model from '../../../src/trino-rules/model/question.js';
import { catalogMode } from '../../../src/trino-rules/model/rights.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import type { Answer, Question } from './engine-question.js';

/**
 * The intent as an answer to a question for the engine; undefined where it does not decide: listings of catalogs and schemas
 * follow any rule, and access to a catalog includes its `information_schema`.
 */
export function byIntent(snapshot: Snapshot, question: Question): Answer | undefined {
  if ('schema' in question && question.schema === 'information_schema') return undefined;
  const principal = principalNamed(snapshot, question.user);
  const may = (asked: model.Question): boolean => principal !== null && decide(snapshot, principal, asked).allowed;
  const mayUse = (
    privilege: TablePrivilege,
    { catalog, schema, table }: TableAsked,
    columns = [undefined] as Columns,
  ) => columns.every((column) => may({ about: 'privilege', resource: { catalog, schema, table }, privilege, column }));
  const owns = ({ catalog, schema }: SchemaAsked) => may({ about: 'schema-ownership', resource: { catalog, schema } });
  const mayRun = (
    kind: 'function' | 'procedure',
    privilege: FunctionPrivilege,
    asked: SchemaAsked & { name: string },
  ) =>
    may({
      about: 'routine',
      kind,
      resource: { catalog: asked.catalog, schema: asked.schema, routine: asked.name },
      privilege,
    });
  const at = ({ catalog, schema, table }: TableAsked): Access =>
    principal === null ? NO_ACCESS : intentAt(snapshot, principal, { catalog, schema, table });
  switch (question.ask) {
    case 'catalog':
      return principal !== null && catalogMode(snapshot, principal, question.catalog) !== 'none';
    case 'create-schema':
    case 'drop-schema':
      return owns(question);
    case 'select':
      return mayUse('SELECT', question, [undefined, ...question.columns]);
    case 'view-with-select':
      return mayUse('GRANT_SELECT', question, [undefined, ...question.columns]);
    case 'table-procedure': {
      const { catalog, schema, table } = question;
      return may({ about: 'table-procedures', resource: { catalog, schema, table } });
    }
    case 'update':
      return mayUse('UPDATE', question);
    case 'insert':
      return mayUse('INSERT', question);
    case 'delete':
    case 'truncate':
      return mayUse('DELETE', question);
    case 'create-table':
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
      return mayUse('OWNERSHIP', question);
    case 'show-columns':
      return reaches(at(question));
    case 'filters': {
      const access = at(question);
      const { filters } = access;
      if (filters.length === 0)
        return onlyReads(access) && !allowsProceduresToReaders(question, snapshot.settings) ? ['true'] : [];
      return [filters.map((expression) => `(${expression})`).join(' AND ')];
    }
    case 'mask':
      return at(question).masks.find(({ column }) => column === question.name)?.expression ?? null;
    case 'filter-tables':
      return question.names.filter((table) => owns(question) || reaches(at({ ...question, table })));
    case 'filter-columns':
      return question.names.filter((column) => shows(at(question), column));
    case 'execute-query':
      return may({ about: 'queries', right: 'execute' });
    case 'view-query':
      return may({ about: 'queries', right: 'view', owner: question.name });
    case 'kill-query':
      return may({ about: 'queries', right: 'kill', owner: question.name });
    case 'read-system':
      return may({ about: 'system-information', right: 'read' });
    case 'write-system':
      return may({ about: 'system-information', right: 'write' });
    case 'impersonate':
      // The engine does not check impersonation of oneself.
      return question.name === question.user ? undefined : may({ about: 'impersonation', newUser: question.name });
    case 'system-property':
      return may({ about: 'session-property', property: question.name, catalog: null });
    case 'catalog-property':
      return may({ about: 'session-property', property: question.name, catalog: question.catalog });
    case 'function':
      return mayRun('function', 'EXECUTE', question);
    case 'view-with-function':
      return mayRun('function', 'GRANT_EXECUTE', question);
    case 'procedure':
      return mayRun('procedure', 'EXECUTE', question);
    case 'show-schemas':
    case 'show-tables':
    case 'filter-catalogs':
    case 'filter-schemas':
      return undefined;
  }
}

interface SchemaAsked {
  catalog: string;
  schema: string;
}

interface TableAsked extends SchemaAsked {
  table: string;
}

type Columns = readonly (string | undefined)[];

function principalNamed({ users, groups, settings, grants, policies }: Snapshot, name: string): Principal | null {
  const person = users.find((user) => user.name === name);
  if (person) return { type: 'user', id: person.id };
  const named = [...grants, ...policies].some(
    ({ principal }) => principal.type === 'engine' && principal.name === name,
  );
  const isInGroup = groups.some(({ engines }) => engines.includes(name));
  return named || isInGroup || settings.serviceAccounts.includes(name) ? { type: 'engine', name } : null;
}

function shows(access: Access, column: string): boolean {
  const more = access.privileges.some((privilege) => privilege !== 'SELECT' && privilege !== 'GRANT_SELECT');
  return reaches(access) && (more || !access.hiddenColumns.includes(column));
}

function reaches({ privileges }: Access): boolean {
  return privileges.length > 0;
}
