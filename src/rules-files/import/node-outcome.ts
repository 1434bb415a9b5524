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
import type { Level, Node } from '../../trino-rules/model/node.js';
import {
  withSums,
  type Privilege,
  PRIVILEGE_TERMS,
  PRIVILEGES,
  privilegesOn,
  type PrivilegeTerms,
  withTaken,
} from '../../trino-rules/model/privilege.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { withoutParentheses } from '../foreign/foreign-document.js';
import { isAny, leftOut } from './named-nodes.js';

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

/** Evaluates a document for a user. Where grants cannot express the rules exactly, the result is less than the engine gives, never more. */
export class OutcomeReader {
  private readonly evaluator: Evaluator;
  /** Whether a set of names has one that is no valid resource name. */
  private readonly nameless = new Map<ReadonlySet<string>, boolean>();

  /** @param isRefused whether policies cannot express the restrictions of a rule */
  constructor(
    private readonly rules: RulesDocument,
    private readonly patterns: PatternCache,
    private readonly isRefused: (rule: TableRule) => boolean,
  ) {
    this.evaluator = new Evaluator(rules, patterns);
  }

  tableOutcome(user: string, table: TableName): NodeOutcome {
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
   * Access to all names below a node that the file does not spell out. A rule about some of these names may decide for any of them, so
   * only access that this rule gives as well counts.
   * @param node with fresh names at the levels that are not named
   * @param named the deepest level that is a name of the file; null: none
   */
  unnamedOutcome(user: string, node: TableName, named: Level | null): NodeOutcome {
    const inTables = this.unnamedTables(user, node, named);
    const ownsSchemas = this.evaluator.ownsSchema(user, node) && (named !== null || this.ownsEverySchema(user));
    const had = [...inTables.privileges, ...(ownsSchemas ? (['SCHEMA_OWNERSHIP'] as const) : [])];
    const privileges = named === null ? this.rightsInAllCatalogs(user, node.catalog, had) : had;
    return privileges.length === 0 ? NO_OUTCOME : { ...inTables, privileges: new Set<Privilege>(privileges) };
  }

  private unnamedTables(user: string, node: TableName, named: Level | null): NodeOutcome {
    const outcome = this.tableOutcome(user, node);
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

  /** Whether a rule closes companions that grants with the same meaning close as well. */
  private closesAsGrantsDo(user: string, node: TableName, rule: TableRule, outcome: NodeOutcome): boolean {
    const language = this.patterns.language(rule.table);
    if (language.kind !== 'open' || language.companions === null || rule.privileges.length > 0) return false;
    const { bases } = language.companions;
    const outcomes =
      bases === null ? [outcome] : [...bases].map((table) => this.tableOutcome(user, { ...node, table }));
    return outcomes.every(isReadingRestricted);
  }

  /** Privileges that the catalog rules allow in any catalog that the file does not spell out. */
  private rightsInAllCatalogs(user: string, fresh: string, privileges: readonly Privilege[]): Privilege[] {
    const about = this.rules.catalogs.filter((rule) => this.patterns.matches(rule.user, user));
    const deciding = about.findIndex(({ catalog }) => this.patterns.matches(catalog, fresh));
    const modes = about
      .slice(0, deciding + 1)
      .filter(({ catalog }) => this.isNearlyAny(catalog) || this.isOpen(catalog));
    const allows = ({ allow }: CatalogRule, { mode }: PrivilegeTerms) =>
      allow === 'all' || (allow === 'read-only' && mode !== 'all');
    return privileges.filter((privilege) => modes.every((rule) => allows(rule, PRIVILEGE_TERMS[privilege])));
  }

  /** Whether the user owns every schema of the catalogs that the file does not spell out. */
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

  /** Whether a pattern matches names that no grant can spell out. */
  private isOpen(pattern: string | undefined): boolean {
    const language = this.patterns.language(pattern);
    if (language.kind !== 'names') return language.kind === 'open' && !this.isNearlyAny(pattern);
    return this.hasNameless(language.names);
  }

  /** Whether a pattern matches every name but a few that have nodes of their own. */
  private isNearlyAny(pattern: string | undefined): boolean {
    const names = leftOut(pattern, this.patterns);
    return names !== null && !this.hasNameless(names);
  }

  /** Whether a pattern matches every schema; `information_schema` may be missing, because rules have no effect there. */
  private isEverySchema(pattern: string | undefined): boolean {
    const names = leftOut(pattern, this.patterns);
    return names !== null && [...names].every((name) => name === INFORMATION_SCHEMA);
  }

  private isInformationSchema(pattern: string | undefined): boolean {
    const language = this.patterns.language(pattern);
    return language.kind === 'names' && [...language.names].every((name) => name === INFORMATION_SCHEMA);
  }

  private hasNameless(names: ReadonlySet<string>): boolean {
    return getOrInsert(this.nameless, names, () =>
      [...names].some((name) => name === name.toLowerCase() && resourceNameProblem(name) !== null),
    );
  }
}

const STEPS_PER_RULE = 20;

/** Whether `one` hides at least what `other` hides. */
function restrictsAsMuch(one: Omit<NodeOutcome, 'privileges'>, other: Omit<NodeOutcome, 'privileges'>): boolean {
  return (
    [...other.filters].every((filter) => one.filters.has(filter)) &&
    [...other.hidden].every((column) => one.hidden.has(column)) &&
    [...other.masks].every(([column, mask]) => one.hidden.has(column) || one.masks.get(column) === mask)
  );
}

/** Whether a user may not read all rows and columns. */
export function isReadingRestricted(outcome: NodeOutcome): boolean {
  return !outcome.privileges.has('SELECT') || seesLess(outcome);
}

/** Restrictions of a rule, without those that the compiler adds: the filter of readers, and hidden storage columns beside others. */
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

/** A node with the access there and, for names that the file does not spell out, below it. */
export interface OutcomeNode {
  resource: Node;
  outcome: NodeOutcome;
  below: OutcomeNode[];
}

/** Grants and policies of one user. */
export interface UserAccess {
  grants: { resource: Node; privileges: Privilege[] }[];
  denies: { resource: Node; privileges: Privilege[] }[];
  filters: { resource: Node; expression: string }[];
  hidden: { resource: Node & { column: string } }[];
  masks: { resource: Node & { column: string }; expression: string }[];
}

/**
 * Turns outcomes into grants, which add up downwards, and policies, which also hold below and cannot be undone there. A node gives nothing
 * that would be too much below it, so unnamed nodes may get less.
 */
export function accessOf(root: OutcomeNode): UserAccess {
  const access: UserAccess = { grants: [], denies: [], filters: [], hidden: [], masks: [] };
  state(narrowed(root), NO_OUTCOME, access);
  return access;
}

/** Removes access from wide nodes that would be too much at nodes below. */
function narrowed({ resource, outcome, below }: OutcomeNode): OutcomeNode {
  const nodes = below.map(narrowed);
  const reached = nodes.flatMap(descendants).filter((node) => node.outcome.privileges.size > 0);
  const isInheritable = reached.every((node) => mayInherit(node.outcome, outcome));
  if (!isInheritable) return { resource, outcome: NO_OUTCOME, below: nodes };
  // A deny also holds below its node, so nothing below may have the privilege.
  const lacks = (privilege: Privilege) =>
    nodes.some(
      (node) =>
        !node.outcome.privileges.has(privilege) &&
        descendants(node).some((each) => each.outcome.privileges.has(privilege)),
    );
  const privileges = new Set([...outcome.privileges].filter((privilege) => !lacks(privilege)));
  const lost = [...outcome.privileges].filter((privilege) => !privileges.has(privilege));
  for (const privilege of withTaken(lost)) privileges.delete(privilege);
  return { resource, outcome: privileges.size === 0 ? NO_OUTCOME : { ...outcome, privileges }, below: nodes };
}

/** Whether policies of a node above can hold at one below it: filters and hidden columns add up, a nearer mask replaces a wider one. */
function mayInherit(below: NodeOutcome, above: NodeOutcome): boolean {
  return (
    [...above.filters].every((filter) => below.filters.has(filter)) &&
    [...above.hidden].every((column) => below.hidden.has(column)) &&
    [...above.masks.keys()].every((column) => below.hidden.has(column) || below.masks.has(column))
  );
}

function descendants(node: OutcomeNode): OutcomeNode[] {
  return [node, ...node.below.flatMap(descendants)];
}

/** Privileges of `others` that the node could hold, but its outcome lacks. */
function lackingAt(resource: Node, { privileges }: NodeOutcome, others: NodeOutcome): Privilege[] {
  return privilegesOn(resource).filter((privilege) => !privileges.has(privilege) && others.privileges.has(privilege));
}

function seesLess({ filters, hidden, masks }: NodeOutcome): boolean {
  return filters.size + hidden.size + masks.size > 0;
}

function state({ resource, outcome, below }: OutcomeNode, inherited: NodeOutcome, access: UserAccess): void {
  const { privileges } = outcome;
  const more = lackingAt(resource, inherited, outcome);
  const lacking = lackingAt(resource, outcome, inherited);
  // Ownership yields to restrictions of the node or, for a schema, of its tables: it needs no deny.
  const isRestricted =
    seesLess(outcome) || lacking.some((privilege) => !PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
  const isRestrictedBelow =
    resource.schema !== undefined &&
    below.some((table) => seesLess(table.outcome) || lackingAt(table.resource, table.outcome, outcome).length > 0);
  const less = lacking.filter((privilege) => {
    const { yieldsToRestrictions, ownsSchemas } = PRIVILEGE_TERMS[privilege];
    return !(yieldsToRestrictions && (isRestricted || (ownsSchemas && isRestrictedBelow)));
  });
  if (more.length > 0) access.grants.push({ resource, privileges: withSums(more) });
  // Only a deny of SELECT closes the companions of a table to which nothing is given.
  const isClosed = resource.table !== undefined && privileges.size === 0 && !less.includes('SELECT');
  const denied: Privilege[] = isClosed ? ['SELECT', ...less] : less;
  if (less.length > 0) access.denies.push({ resource, privileges: withSums(denied) });
  for (const expression of outcome.filters)
    if (!inherited.filters.has(expression)) access.filters.push({ resource, expression });
  for (const column of outcome.hidden)
    if (!inherited.hidden.has(column)) access.hidden.push({ resource: { ...resource, column } });
  for (const [column, expression] of outcome.masks)
    if (inherited.masks.get(column) !== expression)
      access.masks.push({ resource: { ...resource, column }, expression });
  const here = privileges.size === 0 ? { ...inherited, privileges } : outcome;
  for (const node of below) state(node, here, access);
}
