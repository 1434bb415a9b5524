import type { TableRule } from '../document/rules-document.js';

/** A table rule without its patterns. */
export type RuleEffect = Pick<TableRule, 'privileges' | 'columns' | 'filter'>;
