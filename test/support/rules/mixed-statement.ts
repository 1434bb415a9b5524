import type { RulesDocument } from '../../../src/trino-rules/document/rules-document.js';
import { Evaluator, hidesColumn, type TableName } from '../../../src/trino-rules/engine/evaluator.js';
import { columnMaskOf, rowFilterOf } from './table-limits.js';

/** What a statement over all readable columns shows: its filters and masks; null: it is refused. */
interface Shown {
  columns: readonly string[];
  filters: ReadonlySet<string>;
  masks: ReadonlyMap<string, string>;
}

/** The documents from which a statement takes its masks, the check that drops masks of columns without SELECT, filters and privileges. */
export interface StatementSources {
  masks: RulesDocument;
  checks: RulesDocument;
  filters: RulesDocument;
  privileges: RulesDocument;
}

/** Statements of users on tables, each of which takes its parts from documents of its own. Independent of the first step. */
export class MixedStatements {
  private readonly evaluators = new Map<RulesDocument, Evaluator>();

  constructor(
    private readonly users: readonly string[],
    private readonly tables: readonly TableName[],
    private readonly columns: readonly string[],
    private readonly expressions: readonly string[],
  ) {}

  /** The first statement that shows more than every one of `among` alone; undefined: there is none. */
  leak(sources: StatementSources, among: readonly RulesDocument[]) {
    for (const user of this.users)
      for (const table of this.tables) {
        const shown = this.shown(sources, user, table);
        if (shown !== null && !among.some((one) => this.isWithin(shown, one, user, table)))
          return { user, table, shown };
      }
    return undefined;
  }

  /** Users and tables at which each document shows something. */
  readInAll(documents: readonly RulesDocument[]): { user: string; table: TableName }[] {
    return this.users
      .flatMap((user) => this.tables.map((table) => ({ user, table })))
      .filter(({ user, table }) => documents.every((each) => this.shownAlone(each, user, table) !== null));
  }

  private isWithin(shown: Shown, one: RulesDocument, user: string, table: TableName): boolean {
    const alone = this.shownAlone(one, user, table);
    return (
      alone !== null &&
      shown.columns.every((column) => alone.columns.includes(column)) &&
      [...alone.filters].every((filter) => shown.filters.has(filter)) &&
      shown.columns.every((column) => !alone.masks.has(column) || alone.masks.get(column) === shown.masks.get(column))
    );
  }

  private shownAlone(one: RulesDocument, user: string, table: TableName): Shown | null {
    return this.shown({ masks: one, checks: one, filters: one, privileges: one }, user, table);
  }

  /** Null: the statement is refused, or fails by its filter. */
  private shown(
    { masks, checks, filters, privileges }: StatementSources,
    user: string,
    table: TableName,
  ): Shown | null {
    const reader = this.evaluator(privileges);
    if (!reader.hasTablePrivilege(user, 'SELECT', table)) return null;
    const at = reader.tableRuleIndex(user, table);
    const rule = at === null ? undefined : privileges.tables[at];
    const columns = this.columns.filter((column) => rule === undefined || !hidesColumn(rule, column));
    const filter = rowFilterOf(this.evaluator(filters), user, table) ?? '';
    if (filter.includes('fail(')) return null;
    const masked = columns.flatMap((column) => {
      const mask = columnMaskOf(this.evaluator(masks), user, table, column);
      const isApplied = mask !== null && this.evaluator(checks).hasTablePrivilege(user, 'SELECT', table, [column]);
      return isApplied ? [[column, mask] as const] : [];
    });
    return {
      columns,
      filters: new Set(this.expressions.filter((expression) => filter.includes(expression))),
      masks: new Map(masked),
    };
  }

  private evaluator(document: RulesDocument): Evaluator {
    const known = this.evaluators.get(document) ?? new Evaluator(document);
    this.evaluators.set(document, known);
    return known;
  }
}
