import type { TableRule } from '../document/rules-document.js';

/** What a table rule gives: everything of it but whom and where. */
export type RuleEffect = Pick<TableRule, 'privileges' | 'columns' | 'filter'>;
