import { getOrInsert } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import {
  type CatalogRule,
  READERS_FILTER,
  type RulesDocument,
  type TablePrivilege,
  type TableRule,
} from '../../trino-rules/document/rules-document.js';
import { conjuncts } from '../../trino-rules/engine/schema-tables.js';
import { Evaluator, INFORMATION_SCHEMA, type TableName } from '../../trino-rules/engine/evaluator.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege, type PrivilegeTerms } from '../../trino-rules/model/privilege.js';
import type { Level } from '../../trino-rules/model/node.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { withoutParentheses } from '../foreign/equal-filters.js';
import { isAny, leftOut } from './nearly-any.js';

/** The access of one user at a node and, above tables, at every name below that the file does not spell out. */
export interface NodeOutcome {
  privileges: ReadonlySet<Privilege>;
  filters: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  masks: ReadonlyMap<string, string>;
}

export const NO_OUTCOME: NodeOutcome = {
  privileges: new Set(),
  filters: new Set(),
  hidden: new Set(),
  masks: new Map(),
};

/** Asks a document what a user has; never more than the engine would give, where grants cannot say the same. */
export class OutcomeReader {
  private readonly evaluator: Evaluator;
  /** Whether a set of names has one that no grant can hold. */
  private readonly nameless = new Map<ReadonlySet<string>, boolean>();

  /** @param isRefused whether no policies can restrict as a rule does */
  constructor(
    private readonly rules: RulesDocument,
    private readonly patterns: PatternCache,
    private readonly isRefused: (rule: TableRule) => boolean,
  ) {
    this.evaluator = new Evaluator(rules, patterns);
  }

  /** At one table. */
  table(user: string, table: TableName): NodeOutcome {
    const index = this.evaluator.tableRule(user, table);
    const rule = index === null ? undefined : this.rules.tables[index];
    this.patterns.budget.spend(STEPS_PER_RULE * (index ?? this.rules.tables.length));
    if (rule === undefined || this.isRefused(rule)) return NO_OUTCOME;
    const privileges = PRIVILEGES.filter((privilege) => {
      const { onTables, parts } = PRIVILEGE_TERMS[privilege];
      return onTables !== null && parts.length === 0 && this.evaluator.mayUse(user, onTables, table);
    });
    return privileges.length === 0 ? NO_OUTCOME : { privileges: new Set(privileges), ...restrictionsOf(rule) };
  }

  /**
   * At all names below a node that the file does not spell out. A rule that is about some of them only can decide any of them, so that
   * only what it gives too counts.
   * @param node with fresh names at the levels that are not named
   * @param named the deepest level that is a name of the file; null: none
   */
  unnamed(user: string, node: TableName, named: Level | null): NodeOutcome {
    const inTables = this.unnamedTables(user, node, named);
    const ownsSchemas = this.evaluator.ownsSchema(user, node) && (named !== null || this.ownsEverySchema(user));
    const had = [...inTables.privileges, ...(ownsSchemas ? (['SCHEMA_OWNERSHIP'] as const) : [])];
    const privileges = named === null ? this.inEveryCatalog(user, node.catalog, had) : had;
    return privileges.length === 0 ? NO_OUTCOME : { ...inTables, privileges: new Set<Privilege>(privileges) };
  }

  private unnamedTables(user: string, node: TableName, named: Level | null): NodeOutcome {
    const outcome = this.table(user, node);
    const deciding = this.evaluator.tableRule(user, node);
    const rules = deciding === null ? [] : this.rules.tables.slice(0, deciding + 1);
    const last = rules.at(-1);
    if (outcome.privileges.size === 0 || last === undefined || this.isPartial(last, named)) return NO_OUTCOME;
    let privileges = [...outcome.privileges];
    for (const rule of rules) {
      if (!this.isPartial(rule, named) || !this.patterns.matches(rule.user, user)) continue;
      if (named !== null && !this.patterns.matches(rule.catalog, node.catalog)) continue;
      if (named === 'schema' && !this.patterns.matches(rule.schema, node.schema)) continue;
      if (this.closesAsGrantsDo(user, node, rule, outcome)) continue;
      if (this.isRefused(rule) || !restrictsAsMuch(outcome, restrictionsOf(rule))) return NO_OUTCOME;
      const given = new Set<TablePrivilege | null>(rule.privileges);
      if (given.has('GRANT_SELECT')) given.add('SELECT');
      privileges = privileges.filter((privilege) => given.has(PRIVILEGE_TERMS[privilege].onTables));
    }
    return privileges.length === 0 ? NO_OUTCOME : { ...outcome, privileges: new Set(privileges) };
  }

  /** Whether a rule closes companions to a user to whom grants that say the same of their tables close them, too. */
  private closesAsGrantsDo(user: string, node: TableName, rule: TableRule, outcome: NodeOutcome): boolean {
    const language = this.patterns.language(rule.table);
    if (language.kind !== 'open' || language.companions === null || rule.privileges.length > 0) return false;
    const { bases } = language.companions;
    const outcomes = bases === null ? [outcome] : [...bases].map((table) => this.table(user, { ...node, table }));
    return outcomes.every(isReadingRestricted);
  }

  /** Those that the catalog rules let be used in whatever catalog the file does not spell out. */
  private inEveryCatalog(user: string, fresh: string, privileges: readonly Privilege[]): Privilege[] {
    const about = this.rules.catalogs.filter((rule) => this.patterns.matches(rule.user, user));
    const deciding = about.findIndex(({ catalog }) => this.patterns.matches(catalog, fresh));
    const modes = about
      .slice(0, deciding + 1)
      .filter(({ catalog }) => this.isNearlyAny(catalog) || this.isOpen(catalog));
    const lets = ({ allow }: CatalogRule, { mode }: PrivilegeTerms) =>
      allow === 'all' || (allow === 'read-only' && mode !== 'all');
    return privileges.filter((privilege) => modes.every((rule) => lets(rule, PRIVILEGE_TERMS[privilege])));
  }

  /** Also in catalogs that the file does not spell out, whatever the schema. */
  private ownsEverySchema(user: string): boolean {
    const about = this.rules.schemas.filter(
      (rule) => this.patterns.matches(rule.user, user) && !this.isInformationSchema(rule.schema),
    );
    const deciding = about.findIndex(({ catalog, schema }) => this.isNearlyAny(catalog) && this.isEverySchema(schema));
    const reaching = about
      .slice(0, deciding + 1)
      .filter(({ catalog }) => this.isNearlyAny(catalog) || this.isOpen(catalog));
    return reaching.length > 0 && reaching.every(({ owner }) => owner);
  }

  /** Whether a rule can match some of the names that the file does not spell out, and not all of them. */
  private isPartial({ catalog, schema, table }: TableRule, named: Level | null): boolean {
    if (this.isInformationSchema(schema)) return false;
    if (named === 'schema') return this.isOpen(table);
    // The schemas that a finite pattern matches are spelled out; tables with a name are below every schema.
    if (named === 'catalog') return this.isNearlyAny(schema) ? !isAny(table) : this.isOpen(schema);
    return this.isNearlyAny(catalog) ? !(this.isEverySchema(schema) && isAny(table)) : this.isOpen(catalog);
  }

  /** Also where it spells out a name that no grant can. */
  private isOpen(pattern: string | undefined): boolean {
    const language = this.patterns.language(pattern);
    if (language.kind !== 'names') return language.kind === 'open' && !this.isNearlyAny(pattern);
    return this.hasNameless(language.names);
  }

  /** Whether it is about every name but some that the nodes have. */
  private isNearlyAny(pattern: string | undefined): boolean {
    const names = leftOut(pattern, this.patterns);
    return names !== null && !this.hasNameless(names);
  }

  /** Whether it is about every schema, with or without `information_schema`, where no rule holds. */
  private isEverySchema(pattern: string | undefined): boolean {
    const names = leftOut(pattern, this.patterns);
    return names !== null && [...names].every((name) => name === INFORMATION_SCHEMA);
  }

  /** Whether it is about `information_schema` alone. */
  private isInformationSchema(pattern: string | undefined): boolean {
    const language = this.patterns.language(pattern);
    return language.kind === 'names' && [...language.names].every((name) => name === INFORMATION_SCHEMA);
  }

  /** Whether one of these is a name that no grant can hold. */
  private hasNameless(names: ReadonlySet<string>): boolean {
    return getOrInsert(this.nameless, names, () =>
      [...names].some((name) => name === name.toLowerCase() && resourceNameProblem(name) !== null),
    );
  }
}

/** To match a rule with a user and a node. */
const STEPS_PER_RULE = 20;

/** Whether the first hides at least what the second hides: then it can be inherited by the second. */
export function restrictsAsMuch(one: Omit<NodeOutcome, 'privileges'>, other: Omit<NodeOutcome, 'privileges'>): boolean {
  return (
    [...other.filters].every((filter) => one.filters.has(filter)) &&
    [...other.hidden].every((column) => one.hidden.has(column)) &&
    [...other.masks].every(([column, mask]) => one.hidden.has(column) || one.masks.get(column) === mask)
  );
}

function isReadingRestricted({ privileges, filters, hidden, masks }: NodeOutcome): boolean {
  return !privileges.has('SELECT') || filters.size + hidden.size + masks.size > 0;
}

/** Without what grants bring by themselves: the filter of those who only read, and columns of the storage beside others. */
function restrictionsOf({ privileges, filter, columns = [] }: TableRule): Omit<NodeOutcome, 'privileges'> {
  const readsAlone = privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
  const isOfReaders = readsAlone && filter === READERS_FILTER;
  const filters = filter === undefined || isOfReaders ? [] : conjuncts(filter).map(withoutParentheses);
  const closed = columns.filter(({ allow }) => allow === false).map(({ name }) => name);
  const isAlone = columns.every(({ name }) => STORAGE_COLUMNS.includes(name));
  const hidden = isAlone ? closed : closed.filter((name) => !STORAGE_COLUMNS.includes(name));
  const masks = columns.flatMap(({ name, allow, mask }) =>
    allow === false || mask === undefined ? [] : [[name, mask] as const],
  );
  return { filters: new Set(filters), hidden: new Set(hidden), masks: new Map(masks) };
}
