import type { TablePrivilege, TableRule, ColumnRule } from '../document/rules-document.js';
import type { Privilege } from '../model/privilege.js';
import {
  DATA_RIGHTS,
  ROUTINE_RIGHTS,
  TABLE_PRIVILEGES,
  WRITTEN,
  type DataRight,
  type RoutineRight,
} from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';

/** A table rule without its patterns. */
export type RuleEffect = Pick<TableRule, 'privileges' | 'columns' | 'filter'>;

/** The effect of one grant or policy, whatever its principal; for a mask also the depth of its node. */
export type Statement =
  | { kind: 'give' | 'take'; privileges: readonly Privilege[] }
  /** Whatever is said above does not reach the node. */
  | { kind: 'close' }
  | { kind: 'filter'; expression: string }
  | { kind: 'hide'; column: string }
  | { kind: 'mask'; column: string; expression: string; depth: number };

/**
 * All entries that reach a user from the catalog down to one node. Interned: users with the same entries share one
 * state, so that what it comes to is worked out once for all of them, however many nodes lie below.
 */
export class AccessState {
  /** Whether a filter, a mask, a hidden column or a deny applies. */
  readonly isRestricted: boolean;
  /** Whether ownership is given, and something other than a deny of it takes it. */
  readonly isOwnershipLost: boolean;
  /** An owner would rename what a restriction is bound to, and read past it (seen on 483). */
  private readonly held: number;
  private knownEffect: RuleEffect | null = null;

  /** @param given rights, one bit each; so are those `taken` */
  private constructor(
    private readonly restrictions: Restrictions,
    private readonly given: number,
    private readonly taken: number,
  ) {
    const left = given & ~taken;
    this.isRestricted = (taken & OVER_DATA) !== 0 || !restrictions.isEmpty;
    this.isOwnershipLost = this.isRestricted && (left & OWNERSHIP) !== 0;
    this.held = this.isRestricted ? left & ~OWNERSHIP : left;
  }

  /** Without any entry. */
  static nothing(): AccessState {
    return AccessState.of(new Restrictions(null, null), 0, 0);
  }

  and(statement: Statement): AccessState {
    const { restrictions, given, taken } = this;
    switch (statement.kind) {
      case 'give':
        return AccessState.of(restrictions, given | rights(statement.privileges, 'gives'), taken);
      case 'take':
        return AccessState.of(restrictions, given, taken | rights(statement.privileges, 'takes'));
      case 'close':
        return AccessState.of(restrictions.none, 0, 0);
      case 'filter':
      case 'hide':
      case 'mask':
        return AccessState.of(restrictions.and(statement), given, taken);
    }
  }

  has(right: DataRight | RoutineRight): boolean {
    return (this.held & bit(right)) !== 0;
  }

  /** The mode of the catalog that it takes to use what is held; null: nothing is. */
  mode({ ownsSchema }: { ownsSchema: boolean }): 'all' | 'read-only' | null {
    const used = ownsSchema ? this.held : this.held & ~OWNER;
    if (used === 0) return null;
    return (used & ~FOR_READERS) === 0 ? 'read-only' : 'all';
  }

  /** Equal effects of one snapshot are one object. */
  get effect(): RuleEffect {
    return (this.knownEffect ??= this.restrictions.effect(this.held & OVER_DATA));
  }

  /** Columns that two masks at the same distance claim; none for those who have nothing here. */
  get conflicts(): readonly string[] {
    return (this.held & OVER_DATA) === 0 ? [] : this.restrictions.restricting.conflicts;
  }

  private static of(restrictions: Restrictions, given: number, taken: number): AccessState {
    const alike = getOrInsert(restrictions.states, given, () => new Map<number, AccessState>());
    return getOrInsert(alike, taken, () => new AccessState(restrictions, given, taken));
  }
}

type Restriction = Extract<Statement, { kind: 'filter' | 'hide' | 'mask' }>;

/** What a list of policies comes to. */
interface Restricting {
  /** The keys of a rule. */
  written: Omit<RuleEffect, 'privileges'>;
  /** Columns that two masks at the same distance claim. */
  conflicts: readonly string[];
}

/** The policies other than denies that reach a user, in their order: a list that shares its prefix with others. */
class Restrictions {
  /** By the rights that are given, then by those that are taken. */
  readonly states = new Map<number, Map<number, AccessState>>();
  private readonly after = new Map<string, Restrictions>();
  /** The empty list of the same snapshot. */
  readonly none: Restrictions;
  private readonly interned: Map<string, RuleEffect>;
  private known: Restricting | null = null;

  constructor(
    private readonly above: Restrictions | null,
    private readonly last: Restriction | null,
  ) {
    this.none = above?.none ?? this;
    this.interned = above?.interned ?? new Map<string, RuleEffect>();
  }

  get isEmpty(): boolean {
    return this.last === null;
  }

  and(restriction: Restriction): Restrictions {
    return getOrInsert(this.after, keyOf(restriction), () => new Restrictions(this, restriction));
  }

  effect(held: number): RuleEffect {
    const effect = { privileges: written(held), ...(held === 0 ? {} : this.restricting.written) };
    return getOrInsert(this.interned, JSON.stringify(effect), () => effect);
  }

  get restricting(): Restricting {
    return (this.known ??= restrictingBy([...Restrictions.upFrom(this)]));
  }

  /** The last first. */
  private static *upFrom(end: Restrictions): Iterable<Restriction> {
    for (let each: Restrictions | null = end; each?.last; each = each.above) yield each.last;
  }
}

/** GRANT_SELECT lets its holder read as well (seen on 483): SELECT beside it says nothing. */
function written(held: number): TablePrivilege[] {
  const silent = (held & bit('GRANT_SELECT')) === 0 ? 0 : bit('SELECT');
  return TABLE_PRIVILEGES.filter((privilege) => (held & ~silent & bit(privilege)) !== 0);
}

/** @param restrictions those of the nearest node first */
function restrictingBy(restrictions: readonly Restriction[]): Restricting {
  const { rules, conflicts } = columnsOf(restrictions);
  const filter = filterOf(restrictions);
  return { written: { ...(rules.length > 0 && { columns: rules }), ...(filter !== '' && { filter }) }, conflicts };
}

/** A row must pass all filters; one text for the same ones, whatever their order. Empty: the rows are not filtered. */
function filterOf(restrictions: readonly Restriction[]): string {
  const expressions = new Set(restrictions.flatMap((each) => (each.kind === 'filter' ? [each.expression] : [])));
  return Array.from(expressions)
    .sort()
    .map((expression) => `(${expression})`)
    .join(' AND ');
}

/** Hidden columns add up and beat masks. Of the masks of one column the nearest node's counts; two there hide it. */
function columnsOf(restrictions: readonly Restriction[]): { rules: ColumnRule[]; conflicts: string[] } {
  const rules = new Map<string, ColumnRule>();
  const nearest = new Map<string, Restriction & { kind: 'mask' }>();
  const conflicts = new Set<string>();
  for (const each of restrictions) {
    if (each.kind === 'hide') rules.set(each.column, { name: each.column, allow: false });
    if (each.kind !== 'mask') continue;
    const known = nearest.get(each.column);
    if (known !== undefined && known.depth > each.depth) continue;
    if (known !== undefined && known.expression !== each.expression) conflicts.add(each.column);
    nearest.set(each.column, each);
  }
  for (const column of conflicts) rules.set(column, { name: column, allow: false });
  for (const [name, { expression: mask }] of nearest) if (!rules.has(name)) rules.set(name, { name, mask });
  return {
    rules: [...rules.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    conflicts: [...conflicts].sort(),
  };
}

function keyOf(restriction: Restriction): string {
  switch (restriction.kind) {
    case 'filter':
      return JSON.stringify([restriction.expression]);
    case 'hide':
      return JSON.stringify([restriction.column, 'hidden']);
    case 'mask':
      return JSON.stringify([restriction.column, restriction.depth, restriction.expression]);
  }
}

function rights(privileges: readonly Privilege[], by: 'gives' | 'takes'): number {
  return privileges.reduce((all, privilege) => all | (BITS.get(privilege)?.[by] ?? 0), 0);
}

const RIGHTS = [...DATA_RIGHTS, ...ROUTINE_RIGHTS];

function bit(right: DataRight | RoutineRight): number {
  return 1 << RIGHTS.indexOf(right);
}

const bits = (rights: readonly (DataRight | RoutineRight)[]): number =>
  rights.reduce((all, right) => all | bit(right), 0);
const BITS = new Map<string, Record<'gives' | 'takes', number>>(
  Object.entries(WRITTEN).map(([privilege, { gives, takes }]) => [
    privilege,
    { gives: bits(gives), takes: bits(takes) },
  ]),
);

const OVER_DATA = bits(DATA_RIGHTS);
/** The engine lets those run functions and procedures who may enter the catalog at all (seen on 483). */
const FOR_READERS = bits(ROUTINE_RIGHTS) | bit('SELECT');
const OWNER = bit('owner');
const OWNERSHIP = bit('OWNERSHIP') | OWNER;
