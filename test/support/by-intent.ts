import { intentAt, reachesSomething, type Intent } from '../../src/trino-rules/model/intent.js';
import type { Principal } from '../../src/trino-rules/model/principal.js';
import type { Privilege } from '../../src/trino-rules/model/privilege.js';
import type { Resource } from '../../src/trino-rules/model/resource.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import type { Answer, Question } from './engine-question.js';
import { catalogMode, mayImpersonate } from './intended-modes.js';

/**
 * The intent as an answer to a question for the engine; undefined where it does not decide: listings of catalogs and schemas
 * follow any rule, and access to a catalog includes its `information_schema`.
 */
export function byIntent(snapshot: Snapshot, question: Question): Answer | undefined {
  if ('schema' in question && question.schema === 'information_schema') return undefined;
  const principal = principalNamed(snapshot, question.user);
  const at = (node: Resource): Intent | null => principal && intentAt(snapshot, principal, node);
  const has = (node: Resource, privilege: Privilege): boolean => at(node)?.privileges.includes(privilege) === true;
  switch (question.ask) {
    case 'catalog':
      return principal !== null && catalogMode(snapshot, principal, question.catalog) !== 'none';
    case 'create-schema':
    case 'drop-schema':
      return has(schemaOf(question), 'OWNERSHIP');
    case 'select':
      return has(tableOf(question), 'SELECT') && opens(at(tableOf(question)), question.columns);
    case 'view-with-select':
      return has(tableOf(question), 'GRANT_SELECT') && opens(at(tableOf(question)), question.columns);
    case 'update':
      return has(tableOf(question), 'UPDATE');
    case 'insert':
      return has(tableOf(question), 'INSERT');
    case 'delete':
    case 'truncate':
      return has(tableOf(question), 'DELETE');
    case 'create-table':
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
      return has(tableOf(question), 'OWNERSHIP');
    case 'show-columns':
      return reached(at(tableOf(question)));
    case 'filters': {
      const filters = at(tableOf(question))?.filters ?? [];
      return filters.length === 0 ? [] : [filters.map((expression) => `(${expression})`).join(' AND ')];
    }
    case 'mask':
      return at(tableOf(question))?.masks.find(({ column }) => column === question.name)?.expression ?? null;
    case 'filter-tables': {
      const owns = has(schemaOf(question), 'OWNERSHIP');
      return question.names.filter((table) => owns || reached(at({ ...schemaOf(question), table })));
    }
    case 'filter-columns':
      return question.names.filter((column) => shows(at(tableOf(question)), column));
    case 'execute-query':
      return principal !== null && reachesSomething(snapshot, principal);
    case 'impersonate': {
      const person = snapshot.users.find(({ name }) => name === question.name);
      // The engine does not check impersonation of oneself.
      if (question.name === question.user) return undefined;
      return person !== undefined && mayImpersonate(snapshot, question.user, person);
    }
    case 'system-property':
      return setsSystemProperty(snapshot, principal, question);
    case 'catalog-property':
      return (
        isServiceAccount(snapshot, question.user) &&
        principal !== null &&
        question.catalog !== 'system' &&
        catalogMode(snapshot, principal, question.catalog) !== 'none'
      );
    case 'view-query':
    case 'kill-query':
    case 'function':
    case 'view-with-function':
    case 'procedure':
      return false;
    case 'show-schemas':
    case 'show-tables':
    case 'filter-catalogs':
    case 'filter-schemas':
      return undefined;
  }
}

function setsSystemProperty(
  snapshot: Snapshot,
  principal: Principal | null,
  { user, name }: { user: string; name: string },
) {
  if (name.startsWith('grantline_rules_')) return false;
  if (isServiceAccount(snapshot, user)) return true;
  return (
    principal !== null && reachesSomething(snapshot, principal) && snapshot.settings.sessionProperties.includes(name)
  );
}

function principalNamed({ users, settings, grants, policies }: Snapshot, name: string): Principal | null {
  const person = users.find((user) => user.name === name);
  if (person) return { type: 'user', id: person.id };
  const named = [...grants, ...policies].some(
    ({ principal }) => principal.type === 'engine' && principal.name === name,
  );
  return named || settings.serviceAccounts.includes(name) ? { type: 'engine', name } : null;
}

function isServiceAccount({ settings }: Snapshot, name: string): boolean {
  return settings.serviceAccounts.includes(name);
}

function opens(intent: Intent | null, columns: readonly string[]): boolean {
  return !columns.some((column) => intent?.hidden.includes(column));
}

function shows(intent: Intent | null, column: string): boolean {
  const more = intent?.privileges.some((privilege) => privilege !== 'SELECT' && privilege !== 'GRANT_SELECT');
  return reached(intent) && (more === true || opens(intent, [column]));
}

function reached(intent: Intent | null): boolean {
  return intent !== null && intent.privileges.length > 0;
}

function schemaOf({ catalog, schema }: { catalog: string; schema: string }): Resource {
  return { catalog, schema };
}

function tableOf({ catalog, schema, table }: { catalog: string; schema: string; table: string }): Resource {
  return { catalog, schema, table };
}
