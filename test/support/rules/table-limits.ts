import { type Evaluator, INFORMATION_SCHEMA, type TableName } from '../../../src/trino-rules/engine/evaluator.js';
import type { TableRule } from '../../../src/trino-rules/document/rules-document.js';

/** The row filter that the engine adds for a user; null: none. */
export function rowFilterOf(evaluator: Evaluator, user: string, table: TableName): string | null {
  return ruleOf(evaluator, user, table)?.filter ?? null;
}

/** The expression that a user reads instead of a column; null: the column itself. */
export function columnMaskOf(evaluator: Evaluator, user: string, table: TableName, column: string): string | null {
  return ruleOf(evaluator, user, table)?.columns?.find(({ name }) => name === column)?.mask ?? null;
}

function ruleOf(evaluator: Evaluator, user: string, table: TableName): TableRule | undefined {
  if (table.schema === INFORMATION_SCHEMA) return undefined;
  return evaluator.rules.tables[evaluator.tableRuleIndex(user, table) ?? -1];
}
