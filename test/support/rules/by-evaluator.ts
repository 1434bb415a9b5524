import type { Evaluator } from '../../../src/trino-rules/engine/evaluator.js';
import type { MetadataVisibility } from './metadata-visibility.js';
import type { Answer, Question } from './engine-question.js';
import { columnMaskOf, rowFilterOf } from './table-limits.js';

/** What our evaluator answers to a question for the engine. */
export function byEvaluator(evaluator: Evaluator, listings: MetadataVisibility, question: Question): Answer {
  const { user } = question;
  switch (question.ask) {
    case 'catalog':
      return evaluator.mayReadCatalog(user, question.catalog);
    case 'show-schemas':
      return listings.showsCatalog(user, question.catalog);
    case 'create-schema':
    case 'drop-schema':
      return evaluator.ownsSchema(user, question);
    case 'show-tables':
      return listings.showsSchema(user, question);
    case 'select':
      return evaluator.hasTablePrivilege(user, 'SELECT', question, question.columns);
    case 'view-with-select':
      return evaluator.hasTablePrivilege(user, 'GRANT_SELECT', question, question.columns);
    case 'table-procedure':
      return evaluator.mayRunTableProcedures(user, question);
    case 'update':
      return evaluator.hasTablePrivilege(user, 'UPDATE', question);
    case 'insert':
      return evaluator.hasTablePrivilege(user, 'INSERT', question);
    case 'delete':
    case 'truncate':
      return evaluator.hasTablePrivilege(user, 'DELETE', question);
    case 'create-table':
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
      return evaluator.hasTablePrivilege(user, 'OWNERSHIP', question);
    case 'show-columns':
      return listings.showsColumns(user, question);
    case 'filters': {
      const filter = rowFilterOf(evaluator, user, question);
      return filter === null ? [] : [filter];
    }
    case 'mask':
      return columnMaskOf(evaluator, user, question, question.name);
    case 'filter-catalogs':
      return question.names.filter((catalog) => listings.showsCatalog(user, catalog));
    case 'filter-schemas':
      return question.names.filter((schema) => listings.showsSchema(user, { ...question, schema }));
    case 'filter-tables':
      return question.names.filter((table) => listings.showsTable(user, { ...question, table }));
    case 'filter-columns':
      return question.names.filter((column) => listings.showsColumn(user, question, column));
    case 'execute-query':
      return evaluator.hasQueryRight(user, 'execute');
    case 'view-query':
      return evaluator.hasQueryRight(user, 'view', question.name);
    case 'kill-query':
      return evaluator.hasQueryRight(user, 'kill', question.name);
    case 'read-system':
      return evaluator.hasSystemInformationRight(user, 'read');
    case 'write-system':
      return evaluator.hasSystemInformationRight(user, 'write');
    case 'impersonate':
      return evaluator.mayImpersonate(user, question.name);
    case 'system-property':
      return evaluator.maySetSystemSessionProperty(user, question.name);
    case 'function':
      return evaluator.mayRunRoutine(user, routine('function', 'EXECUTE', question));
    case 'view-with-function':
      return evaluator.mayRunRoutine(user, routine('function', 'GRANT_EXECUTE', question));
    case 'procedure':
      return evaluator.mayRunRoutine(user, routine('procedure', 'EXECUTE', question));
    case 'catalog-property':
      return evaluator.maySetCatalogSessionProperty(user, question.catalog, question.name);
  }
}

function routine(
  kind: 'function' | 'procedure',
  privilege: 'EXECUTE' | 'GRANT_EXECUTE',
  { catalog, schema, name }: { catalog: string; schema: string; name: string },
) {
  return { kind, privilege, resource: { catalog, schema, routine: name } };
}
