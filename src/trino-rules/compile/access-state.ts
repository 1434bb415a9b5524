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

/** The effect of one grant or policy or of the settings, without its principals and node; for a mask also the depth of its node. */
export type EntryEffect =
  | { kind: 'give' | 'take'; privileges: readonly Privilege[] }
  /** Entries above do not apply at the node, and its tables have neither companions nor procedures: `system`. */
  | { kind: 'close' }
  /** The node is a companion of a restricted table: nothing is left, whatever entries it has. */
  | { kind: 'close-companion' }
  /** Raw columns are hidden beside any masked or hidden one. */
  | { kind: 'raw-columns' }
  /** Ownership is lost to a restriction elsewhere in the catalog. */
  | { kind: 'disown' }
  | { kind: 'filter'; expression: string }
  | { kind: 'hide'; column: string }
  | { kind: 'mask'; column: string; expression: string; depth: number };

/** The access by all entries on the path to one node. Interned: users with the same entries share one state. */
export class AccessState {
  /** Whether a filter, a mask, a hidden column or a deny applies. */
  readonly isRestricted: boolean;
  /** Whether ownership is given and lost to a restriction other than its own deny. */
  readonly isOwnershipLost: boolean;
  /** Whether a restriction of reading closes the companions of the tables here: `table$suffix`. */
  readonly closesCompanions: boolean;
  private knownHeld: number | null = null;
  private knownEffect: RuleEffect | null = null;

  private constructor(
    private readonly restrictions: Restrictions,
    private readonly given: number,
    private readonly taken: number,
    private readonly flags: number,
  ) {
    const left = given & ~taken;
    this.isRestricted = (taken & OVER_DATA) !== 0 || !restrictions.isEmpty;
    this.closesCompanions = (flags & APART) === 0 && ((taken & SELECT) !== 0 || !restrictions.isEmpty);
    this.isOwnershipLost = this.ownershipYields && (left & OWNERSHIP) !== 0;
  }

  /** The state without any entry. @param isOpenToReaders whether users who only read keep table procedures */
  static nothing(isOpenToReaders: boolean): AccessState {
    return AccessState.of(new Restrictions(null, null), 0, 0, isOpenToReaders ? OPEN_TO_READERS : 0);
  }

  withEntry(entry: EntryEffect): AccessState {
    const { restrictions, given, taken, flags } = this;
    switch (entry.kind) {
      case 'give':
        return AccessState.of(restrictions, given | rights(entry.privileges, 'gives'), taken, flags);
      case 'take':
        return AccessState.of(restrictions, given, taken | rights(entry.privileges, 'takes'), flags);
      case 'close':
        return AccessState.of(restrictions.none, 0, 0, APART);
      case 'close-companion':
        return AccessState.of(restrictions, given, taken, flags | CLOSED_COMPANION);
      case 'disown':
        return AccessState.of(restrictions, given, taken, flags | DISOWNED);
      case 'raw-columns':
        return AccessState.of(restrictions, given, taken, flags | RAW_COLUMNS);
      case 'filter':
      case 'hide':
      case 'mask':
        return AccessState.of(restrictions.with(entry), given, taken, flags);
    }
  }

  /** Whether the node is closed as a companion. The rule about all companions of its table covers it. */
  get isClosedCompanion(): boolean {
    return (this.flags & CLOSED_COMPANION) !== 0;
  }

  /** An owner could rename a restricted object, and then read it without the restriction (seen on 483). */
  private get ownershipYields(): boolean {
    return this.isRestricted || (this.flags & DISOWNED) !== 0;
  }

  /** Rights that remain after restrictions, one bit each. Computed on demand, because most states are only intermediate. */
  private get held(): number {
    return (this.knownHeld ??= this.rightsLeft());
  }

  private rightsLeft(): number {
    if (this.isClosedCompanion) return 0;
    const { lost } = this.restrictions.effectWith(this.flags);
    return this.given & ~this.taken & ~lost & ~(this.ownershipYields ? OWNERSHIP : 0);
  }

  has(right: DataRight | RoutineRight): boolean {
    return (this.held & bit(right)) !== 0;
  }

  /** The catalog mode that the held rights need; null: no right is held. */
  mode({ ownsSchema }: { ownsSchema: boolean }): 'all' | 'read-only' | null {
    const used = ownsSchema ? this.held : this.held & ~OWNER;
    if (used === 0) return null;
    return (used & ~FOR_READERS) === 0 ? 'read-only' : 'all';
  }

  /** Equal effects of one snapshot are one object. */
  get effect(): RuleEffect {
    return (this.knownEffect ??= this.restrictions.effect(this.held & OVER_DATA, this.flags));
  }

  /** Columns with two masks at the same distance; none without access. */
  get conflicts(): readonly string[] {
    return (this.held & OVER_DATA) === 0 ? [] : this.restrictions.effectWith(this.flags).conflicts;
  }

  private static of(restrictions: Restrictions, given: number, taken: number, flags: number): AccessState {
    const alike = getOrInsert(restrictions.states, (given << FLAGS) | flags, () => new Map<number, AccessState>());
    return getOrInsert(alike, taken, () => new AccessState(restrictions, given, taken, flags));
  }
}

type Restriction = Extract<EntryEffect, { kind: 'filter' | 'hide' | 'mask' }>;

/** The effect of a list of policies. */
interface RestrictionEffect {
  /** The keys of a rule for these policies. */
  written: Omit<RuleEffect, 'privileges'>;
  /** Rights that filters and masks take. */
  lost: number;
  /** Columns with two masks at the same distance. */
  conflicts: readonly string[];
}

/** The policies other than denies that apply to a user, in order: a linked list that shares prefixes with others. */
class Restrictions {
  /** States by given rights and flags, then by taken rights. */
  readonly states = new Map<number, Map<number, AccessState>>();
  private readonly after = new Map<string, Restrictions>();
  /** The empty list of the same snapshot. */
  readonly none: Restrictions;
  private readonly interned: Map<string, RuleEffect>;
  private readonly known: Partial<Record<keyof typeof ALSO_HIDDEN, RestrictionEffect>> = {};

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

  with(restriction: Restriction): Restrictions {
    return getOrInsert(this.after, keyOf(restriction), () => new Restrictions(this, restriction));
  }

  effect(held: number, flags: number): RuleEffect {
    const { columns, filter } = this.effectWith(flags).written;
    const changesNothing =
      (held & WRITING) === 0 && (held & READING) !== 0 && (flags & (OPEN_TO_READERS | APART)) === 0;
    const rows = filter ?? (changesNothing ? EVERY_ROW : undefined);
    const effect = {
      privileges: written(held),
      ...(held !== 0 && columns && { columns }),
      ...(held !== 0 && rows !== undefined && { filter: rows }),
    };
    return getOrInsert(this.interned, JSON.stringify(effect), () => effect);
  }

  effectWith(flags: number): RestrictionEffect {
    const storage = (flags & RAW_COLUMNS) === 0 ? 'plain' : 'raw';
    return (this.known[storage] ??= effectOf([...Restrictions.nearestFirst(this)], ALSO_HIDDEN[storage]));
  }

  private static *nearestFirst(end: Restrictions): Iterable<Restriction> {
    for (let each: Restrictions | null = end; each?.last; each = each.above) yield each.last;
  }
}

/** The privileges in a rule. SELECT is left out beside GRANT_SELECT, which lets its holder read as well (seen on 483). */
function written(held: number): TablePrivilege[] {
  const silent = (held & bit('GRANT_SELECT')) === 0 ? 0 : bit('SELECT');
  return TABLE_PRIVILEGES.filter((privilege) => (held & ~silent & bit(privilege)) !== 0);
}

/** The effect of restrictions, nearest first; the columns `beside` are hidden with any restricted column. */
function effectOf(restrictions: readonly Restriction[], beside: readonly string[]): RestrictionEffect {
  const { rules, conflicts } = columnsOf(restrictions);
  const filter = filterOf(restrictions);
  const columns = rules.length > 0 ? withHidden(rules, beside) : undefined;
  const isMasked = columns?.some(({ mask }) => mask !== undefined) === true;
  const lost = (filter === '' ? 0 : UNFILTERED) | (isMasked ? UNMASKED : 0);
  return { written: { ...(columns && { columns }), ...(filter !== '' && { filter }) }, lost, conflicts };
}

/** Columns that show where a row is stored, and so values of partition columns (seen on 483). */
const STORAGE_COLUMNS = ['$bucket', '$partition', '$path'];
/** Columns that are hidden beside any restricted one: in most catalogs, and in catalogs over stores that keep a row as one value. */
const ALSO_HIDDEN = {
  plain: STORAGE_COLUMNS,
  raw: [...STORAGE_COLUMNS, '_headers', '_key', '_message', '_source', '_value'],
};

/** Adds hidden columns, which replace their masks. */
function withHidden(columns: readonly ColumnRule[], names: readonly string[]): ColumnRule[] {
  const others = columns.filter(({ name }) => !names.includes(name));
  return [...others, ...names.map((name) => ({ name, allow: false }))].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A filter that passes every row: the engine refuses `ALTER TABLE … EXECUTE` beside any filter (seen on 483). */
export const EVERY_ROW = 'true';

/** The conjunction of all filters, independent of their order; empty without any. */
function filterOf(restrictions: readonly Restriction[]): string {
  const expressions = new Set(restrictions.flatMap((each) => (each.kind === 'filter' ? [each.expression] : [])));
  return Array.from(expressions)
    .sort()
    .map((expression) => `(${expression})`)
    .join(' AND ');
}

/** Hidden columns accumulate and take precedence over masks. The nearest mask applies; two on one node hide the column. */
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

const KEYS = new WeakMap<Restriction, string>();

/** A key that only equal restrictions share. It is computed once for every list that the restriction ends. */
function keyOf(restriction: Restriction): string {
  const known = KEYS.get(restriction) ?? keyText(restriction);
  KEYS.set(restriction, known);
  return known;
}

function keyText(restriction: Restriction): string {
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
const SELECT = bit('SELECT');
const READING = SELECT | bit('GRANT_SELECT');
const WRITING = bits(['INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP']);
/** Rights that a filter takes: TRUNCATE passes every filter, and the engine refuses UPDATE beside one (seen on 483). */
const UNFILTERED = bits(['DELETE', 'UPDATE']);
/** Rights that a mask takes: the engine refuses them beside a mask, except for TRUNCATE, which passes it (seen on 483). */
const UNMASKED = bits(['INSERT', 'DELETE', 'UPDATE']);
/** Rights for which the mode read-only is enough (seen on 483). */
const FOR_READERS = bits(ROUTINE_RIGHTS) | bit('SELECT');
const OWNER = bit('owner');
const OWNERSHIP = bit('OWNERSHIP') | OWNER;

/** Flags of a state, one bit each. */
const OPEN_TO_READERS = 1;
const RAW_COLUMNS = 2;
const DISOWNED = 4;
const CLOSED_COMPANION = 8;
const APART = 16;
/** Number of flag bits. */
const FLAGS = 5;
