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
import { conjuncts, withoutParentheses } from '../../trino-rules/engine/schema-tables.js';
import { Evaluator, INFORMATION_SCHEMA, type TableName } from '../../trino-rules/engine/evaluator.js';
import type { Level, Node } from '../../trino-rules/model/node.js';
import {
  mergeIntoComposites,
  type Privilege,
  PRIVILEGE_TERMS,
  PRIVILEGES,
  privilegesOn,
  type PrivilegeTerms,
  privilegesTakenBy,
} from '../../trino-rules/model/privilege.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { matchesAny, excludedNames } from './named-nodes.js';

/** The access of a user at a node, and also at each node below whose name is not in the file. */
export interface NodeAccess {
  privileges: ReadonlySet<Privilege>;
  filters: ReadonlySet<string>;
  hiddenColumns: ReadonlySet<string>;
  masks: ReadonlyMap<string, string>;
}

export const NO_NODE_ACCESS: NodeAccess = {
  privileges: new Set(),
  filters: new Set(),
  hiddenColumns: new Set(),
  masks: new Map(),
};

/** Evaluates rules for a user. Where grants cannot express the rules exactly, the result is less than the engine gives, never more. */
export class NodeAccessReader {
  private readonly evaluator: Evaluator;
  /** For each set of names: whether it contains an invalid resource name. */
  private readonly setsWithInvalidNames = new Map<ReadonlySet<string>, boolean>();

  /** @param isInexpressible whether no policies can express the restrictions of a rule */
  constructor(
    private readonly rules: RulesDocument,
    private readonly patterns: PatternCache,
    private readonly isInexpressible: (rule: TableRule) => boolean,
  ) {
    this.evaluator = new Evaluator(rules, patterns);
  }

  tableAccess(user: string, table: TableName): NodeAccess {
    const ruleIndex = this.evaluator.tableRuleIndex(user, table);
    const rule = ruleIndex === null ? undefined : this.rules.tables[ruleIndex];
    this.patterns.budget.spend(COST_PER_RULE * (ruleIndex ?? this.rules.tables.length));
    if (rule === undefined || this.isInexpressible(rule)) return NO_NODE_ACCESS;
    const privileges = PRIVILEGES.filter((privilege) => {
      const { tablePrivilege, components } = PRIVILEGE_TERMS[privilege];
      return (
        tablePrivilege !== null &&
        components.length === 0 &&
        !writesRefusedBy(rule).includes(tablePrivilege) &&
        this.evaluator.hasTablePrivilege(user, tablePrivilege, table)
      );
    });
    return privileges.length === 0 ? NO_NODE_ACCESS : { privileges: new Set(privileges), ...restrictionsOf(rule) };
  }

  /**
   * The access that a user has to every unnamed table (one that the file does not name) of a catalog, of a schema, or of all unnamed catalogs.
   * @param node an example of these tables. Its names below `namedLevel` are invented
   * @param namedLevel the deepest level of `node` whose name is in the file; null: all its names are invented
   */
  unnamedAccess(user: string, node: TableName, namedLevel: Level | null): NodeAccess {
    const tableAccess = this.unnamedTableAccess(user, node, namedLevel);
    const ownsSchemas = this.evaluator.ownsSchema(user, node) && (namedLevel !== null || this.ownsEverySchema(user));
    const rights = [...tableAccess.privileges, ...(ownsSchemas ? (['SCHEMA_OWNERSHIP'] as const) : [])];
    const privileges = namedLevel === null ? this.rightsInAllCatalogs(user, node.catalog, rights) : rights;
    return privileges.length === 0 ? NO_NODE_ACCESS : { ...tableAccess, privileges: new Set<Privilege>(privileges) };
  }

  private unnamedTableAccess(user: string, node: TableName, namedLevel: Level | null): NodeAccess {
    const access = this.tableAccess(user, node);
    const deciderIndex = this.evaluator.tableRuleIndex(user, node);
    const consideredRules = deciderIndex === null ? [] : this.rules.tables.slice(0, deciderIndex + 1);
    const decidingRule = consideredRules.at(-1);
    if (access.privileges.size === 0 || decidingRule === undefined || this.isPartial(decidingRule, namedLevel))
      return NO_NODE_ACCESS;
    let privileges = [...access.privileges];
    for (const rule of consideredRules) {
      if (!this.isPartial(rule, namedLevel) || !this.patterns.matches(rule.user, user)) continue;
      if (namedLevel !== null && !this.patterns.matches(rule.catalog, node.catalog)) continue;
      if (namedLevel === 'schema' && !this.patterns.matches(rule.schema, node.schema)) continue;
      if (this.closesSameCompanionsAsGrants(user, node, rule, access)) continue;
      if (this.isInexpressible(rule) || !restrictsAsMuch(access, restrictionsOf(rule))) return NO_NODE_ACCESS;
      const ruleRights = new Set<TablePrivilege | null>(rule.privileges);
      if (ruleRights.has('GRANT_SELECT')) ruleRights.add('SELECT');
      for (const right of writesRefusedBy(rule)) ruleRights.delete(right);
      privileges = privileges.filter((privilege) => ruleRights.has(PRIVILEGE_TERMS[privilege].tablePrivilege));
    }
    return privileges.length === 0 ? NO_NODE_ACCESS : { ...access, privileges: new Set(privileges) };
  }

  private closesSameCompanionsAsGrants(user: string, node: TableName, rule: TableRule, access: NodeAccess): boolean {
    const language = this.patterns.language(rule.table);
    if (language.kind !== 'open' || language.companions === null || rule.privileges.length > 0) return false;
    const { baseNames: bases } = language.companions;
    const accesses = bases === null ? [access] : [...bases].map((table) => this.tableAccess(user, { ...node, table }));
    return accesses.every(isReadingRestricted);
  }

  /** Those of `privileges` that the catalog rules allow in every catalog that the file does not name. */
  private rightsInAllCatalogs(user: string, freshCatalog: string, privileges: readonly Privilege[]): Privilege[] {
    const rules = this.rules.catalogs.filter((rule) => this.patterns.matches(rule.user, user));
    const deciderIndex = rules.findIndex(({ catalog }) => this.patterns.matches(catalog, freshCatalog));
    const reachingRules = rules
      .slice(0, deciderIndex + 1)
      .filter(({ catalog }) => this.isNearlyAny(catalog) || this.isUnspellable(catalog));
    const allows = ({ allow }: CatalogRule, { catalogMode }: PrivilegeTerms) =>
      allow === 'all' || (allow === 'read-only' && catalogMode !== 'all');
    return privileges.filter((privilege) => reachingRules.every((rule) => allows(rule, PRIVILEGE_TERMS[privilege])));
  }

  /** Whether the rules make the user the owner of all schemas in each catalog that the file does not name. */
  private ownsEverySchema(user: string): boolean {
    const rules = this.rules.schemas.filter(
      (rule) => this.patterns.matches(rule.user, user) && !this.isInformationSchema(rule.schema),
    );
    const deciderIndex = rules.findIndex(
      ({ catalog, schema }) => this.isNearlyAny(catalog) && this.isEverySchema(schema),
    );
    const reachingRules = rules
      .slice(0, deciderIndex + 1)
      .filter(({ catalog }) => this.isNearlyAny(catalog) || this.isUnspellable(catalog));
    return reachingRules.length > 0 && reachingRules.every(({ owner }) => owner);
  }

  /** Whether a rule matches only some of the tables below a node. Tables named in the file do not count. */
  private isPartial({ catalog, schema, table }: TableRule, namedLevel: Level | null): boolean {
    if (this.isInformationSchema(schema)) return false;
    if (namedLevel === 'schema') return this.isUnspellable(table);
    if (namedLevel === 'catalog') return this.isNearlyAny(schema) ? !matchesAny(table) : this.isUnspellable(schema);
    return this.isNearlyAny(catalog) ? !(this.isEverySchema(schema) && matchesAny(table)) : this.isUnspellable(catalog);
  }

  /** Whether grants cannot express a pattern, such as `a.*`. */
  private isUnspellable(pattern: string | undefined): boolean {
    const language = this.patterns.language(pattern);
    if (language.kind !== 'names') return language.kind === 'open' && !this.isNearlyAny(pattern);
    return this.hasInvalidName(language.names);
  }

  /** Whether a pattern matches all names with a few exceptions, such as `(?!secret$).*`, and grants can name each exception. */
  private isNearlyAny(pattern: string | undefined): boolean {
    const names = excludedNames(pattern, this.patterns);
    return names !== null && !this.hasInvalidName(names);
  }

  /** Whether a pattern matches every schema; `information_schema` may be missing, because rules have no effect there. */
  private isEverySchema(pattern: string | undefined): boolean {
    const names = excludedNames(pattern, this.patterns);
    return names !== null && [...names].every((name) => name === INFORMATION_SCHEMA);
  }

  private isInformationSchema(pattern: string | undefined): boolean {
    return this.patterns.listsOnly(pattern, (name) => name === INFORMATION_SCHEMA);
  }

  private hasInvalidName(names: ReadonlySet<string>): boolean {
    return getOrInsert(this.setsWithInvalidNames, names, () =>
      [...names].some((name) => name === name.toLowerCase() && resourceNameProblem(name) !== null),
    );
  }
}

const COST_PER_RULE = 20;

type NodeRestrictions = Omit<NodeAccess, 'privileges'>;

/** Whether `access` has all restrictions of `other`. In place of a mask, a hidden column is enough. @param isAnyMaskEnough or another mask */
function restrictsAsMuch(access: NodeRestrictions, other: NodeRestrictions, isAnyMaskEnough = false): boolean {
  const hasMask = (column: string, mask: string): boolean =>
    isAnyMaskEnough ? access.masks.has(column) : access.masks.get(column) === mask;
  return (
    [...other.filters].every((filter) => access.filters.has(filter)) &&
    [...other.hiddenColumns].every((column) => access.hiddenColumns.has(column)) &&
    [...other.masks].every(([column, mask]) => access.hiddenColumns.has(column) || hasMask(column, mask))
  );
}

/** Whether a user may not read all rows and columns. */
export function isReadingRestricted(access: NodeAccess): boolean {
  return !access.privileges.has('SELECT') || isRestricted(access);
}

/**
 * The privileges that the engine refuses because of a mask of a hidden column. The import makes no policy of this mask, which would take them:
 * hidden beats masked.
 */
function writesRefusedBy({ columns = [] }: TableRule): readonly TablePrivilege[] {
  return columns.some(({ allow, mask }) => allow === false && mask !== undefined) ? ['INSERT', 'UPDATE', 'DELETE'] : [];
}

/** The restrictions of a rule, except for two that the compiler adds itself: READERS_FILTER, and the hiding of storage columns such as `$path`. */
function restrictionsOf({ privileges, filter, columns = [] }: TableRule): NodeRestrictions {
  const givesOnlyReading = privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
  const isReadersFilter = givesOnlyReading && filter === READERS_FILTER;
  const filters = filter === undefined || isReadersFilter ? [] : conjuncts(filter).map(withoutParentheses);
  const hiddenColumns = columns.filter(({ allow }) => allow === false).map(({ name }) => name);
  const isStorageOnly = columns.every(({ name }) => STORAGE_COLUMNS.includes(name));
  const hiddenByFile = isStorageOnly ? hiddenColumns : hiddenColumns.filter((name) => !STORAGE_COLUMNS.includes(name));
  const masks = columns.flatMap(({ name, allow, mask }) =>
    allow === false || mask === undefined ? [] : [[name, mask] as const],
  );
  return { filters: new Set(filters), hiddenColumns: new Set(hiddenByFile), masks: new Map(masks) };
}

/** A node with a user's access. Names below the node that the file does not spell out have the same access. */
export interface NodeAccessTree {
  resource: Node;
  access: NodeAccess;
  children: NodeAccessTree[];
}

export interface UserAccess {
  grants: { resource: Node; privileges: Privilege[] }[];
  denies: { resource: Node; privileges: Privilege[] }[];
  filters: { resource: Node; expression: string }[];
  hiddenColumns: { resource: Node & { column: string } }[];
  masks: { resource: Node & { column: string }; expression: string }[];
}

/** Turns a user's access into grants and policies. Nodes that the file does not spell out may get less access than the rules give. */
export function accessOf(root: NodeAccessTree): UserAccess {
  const result: UserAccess = { grants: [], denies: [], filters: [], hiddenColumns: [], masks: [] };
  collectAccess(withoutExcess(root), NO_NODE_ACCESS, result);
  return result;
}

/** Removes access from a node if inheriting it would change the access of a node below. */
function withoutExcess({ resource, access, children: childTrees }: NodeAccessTree): NodeAccessTree {
  const children = childTrees.map(withoutExcess);
  const nodesWithAccess = children.flatMap(descendants).filter((node) => node.access.privileges.size > 0);
  const isInheritable = nodesWithAccess.every((node) => restrictsAsMuch(node.access, access, true));
  if (!isInheritable) return { resource, access: NO_NODE_ACCESS, children };
  // True if a child lacks the privilege and a node below the child has it: a deny on the child would also take it from that node.
  const isLackedBelow = (privilege: Privilege) =>
    children.some(
      (node) =>
        !node.access.privileges.has(privilege) &&
        descendants(node).some((each) => each.access.privileges.has(privilege)),
    );
  const privileges = new Set([...access.privileges].filter((privilege) => !isLackedBelow(privilege)));
  const removedPrivileges = [...access.privileges].filter((privilege) => !privileges.has(privilege));
  for (const privilege of privilegesTakenBy(removedPrivileges)) privileges.delete(privilege);
  return { resource, access: privileges.size === 0 ? NO_NODE_ACCESS : { ...access, privileges }, children };
}

function descendants(node: NodeAccessTree): NodeAccessTree[] {
  return [node, ...node.children.flatMap(descendants)];
}

function missingAt(resource: Node, { privileges }: NodeAccess, other: NodeAccess): Privilege[] {
  return privilegesOn(resource).filter((privilege) => !privileges.has(privilege) && other.privileges.has(privilege));
}

function isRestricted({ filters, hiddenColumns, masks }: NodeAccess): boolean {
  return filters.size + hiddenColumns.size + masks.size > 0;
}

function collectAccess(node: NodeAccessTree, parentAccess: NodeAccess, result: UserAccess): void {
  const { resource, access, children } = node;
  const { privileges } = access;
  const addedPrivileges = missingAt(resource, parentAccess, access);
  const missingPrivileges = missingAt(resource, access, parentAccess);
  // Restrictions and denies also take ownership away. Then ownership needs no deny of its own.
  const isNodeRestricted =
    isRestricted(access) || missingPrivileges.some((privilege) => !PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
  const isRestrictedBelow =
    resource.schema !== undefined &&
    children.some((table) => isRestricted(table.access) || missingAt(table.resource, table.access, access).length > 0);
  const privilegesToDeny = missingPrivileges.filter((privilege) => {
    const { yieldsToRestrictions, ownsSchemas } = PRIVILEGE_TERMS[privilege];
    return !(yieldsToRestrictions && (isNodeRestricted || (ownsSchemas && isRestrictedBelow)));
  });
  if (addedPrivileges.length > 0) result.grants.push({ resource, privileges: mergeIntoComposites(addedPrivileges) });
  // If the user has no privilege on a table, a deny on the table includes SELECT, so that the deny covers companion tables (`t$files`).
  const needsSelectDeny = resource.table !== undefined && privileges.size === 0 && !privilegesToDeny.includes('SELECT');
  const deniedPrivileges: Privilege[] = needsSelectDeny ? ['SELECT', ...privilegesToDeny] : privilegesToDeny;
  if (privilegesToDeny.length > 0) result.denies.push({ resource, privileges: mergeIntoComposites(deniedPrivileges) });
  for (const expression of access.filters)
    if (!parentAccess.filters.has(expression)) result.filters.push({ resource, expression });
  for (const column of access.hiddenColumns)
    if (!parentAccess.hiddenColumns.has(column)) result.hiddenColumns.push({ resource: { ...resource, column } });
  for (const [column, expression] of access.masks)
    if (parentAccess.masks.get(column) !== expression)
      result.masks.push({ resource: { ...resource, column }, expression });
  const inheritedAccess = privileges.size === 0 ? { ...parentAccess, privileges } : access;
  for (const child of children) collectAccess(child, inheritedAccess, result);
}
