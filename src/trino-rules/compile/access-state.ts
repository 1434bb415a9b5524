import type { TablePrivilege, TableRule, ColumnRule } from '../document/rules-document.js';
import type { Privilege } from '../model/privilege.js';
import {
  DATA_RIGHTS,
  ROUTINE_RIGHTS,
  TABLE_PRIVILEGES,
  RIGHTS_OF_PRIVILEGES,
  type DataRight,
  type RoutineRight,
} from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';

/** A table rule without its patterns. */
export type RuleEffect = Pick<TableRule, 'privileges' | 'columns' | 'filter'>;

/** The effect of one grant, policy or setting on access, without its principals and its node. */
export type EntryEffect =
  | { kind: 'give' | 'take'; privileges: readonly Privilege[] }
  /** Stops grants and policies on everything from applying in the catalog. Used for `system` and the metadata catalog. */
  | { kind: 'close' }
  /** The node is a companion (`table$suffix`) of a restricted table, so that there is no access to it. */
  | { kind: 'close-companion' }
  /** The catalog's tables have raw columns (whole stored rows), which are hidden as soon as another column is masked or hidden. */
  | { kind: 'raw-columns' }
  /** A restriction on another node in the catalog takes away ownership at this node. */
  | { kind: 'disown' }
  | { kind: 'filter'; expression: string }
  | { kind: 'hide'; column: string }
  | { kind: 'mask'; column: string; expression: string; depth: number };

/** The access that all grants, policies and settings on the path to a node give. Users with equal access share one object (interned). */
export class AccessState {
  readonly isRestricted: boolean;
  /** Whether ownership is granted, but a restriction other than a deny of ownership takes it away. */
  readonly isOwnershipLost: boolean;
  /** Whether a restriction of reading denies access to the companions (`table$suffix`) of the tables at this node. */
  readonly closesCompanions: boolean;
  private cachedEffect: RuleEffect | null = null;

  private constructor(
    private readonly restrictions: Restrictions,
    private readonly givenRights: number,
    private readonly takenRights: number,
    private readonly flags: number,
  ) {
    const remainingRights = givenRights & ~takenRights;
    this.isRestricted = (takenRights & DATA_RIGHT_BITS) !== 0 || !restrictions.isEmpty;
    this.closesCompanions = (flags & CLOSED_CATALOG) === 0 && ((takenRights & SELECT) !== 0 || !restrictions.isEmpty);
    this.isOwnershipLost = this.losesOwnership && (remainingRights & OWNERSHIP) !== 0;
  }

  /** The state of users without any grant or policy. @param isOpenToReaders whether users who only read may run table procedures */
  static empty(isOpenToReaders: boolean): AccessState {
    return AccessState.of(new Restrictions(null, null), 0, 0, isOpenToReaders ? OPEN_TO_READERS : 0);
  }

  withEntry(entry: EntryEffect): AccessState {
    const { restrictions, givenRights, takenRights, flags } = this;
    switch (entry.kind) {
      case 'give':
        return AccessState.of(restrictions, givenRights | rightBits(entry.privileges, 'gives'), takenRights, flags);
      case 'take':
        return AccessState.of(restrictions, givenRights, takenRights | rightBits(entry.privileges, 'takes'), flags);
      case 'close':
        return AccessState.of(restrictions.emptyList, 0, 0, CLOSED_CATALOG);
      case 'close-companion':
        return AccessState.of(restrictions, givenRights, takenRights, flags | CLOSED_COMPANION);
      case 'disown':
        return AccessState.of(restrictions, givenRights, takenRights, flags | OWNERSHIP_TAKEN);
      case 'raw-columns':
        return AccessState.of(restrictions, givenRights, takenRights, flags | HAS_RAW_COLUMNS);
      case 'filter':
      case 'hide':
      case 'mask':
        return AccessState.of(restrictions.withRestriction(entry), givenRights, takenRights, flags);
    }
  }

  /** Whether the node is a companion (`table$suffix`) without access. Such a node needs no rule, because the rule for all companions of its table matches it. */
  get isClosedCompanion(): boolean {
    return (this.flags & CLOSED_COMPANION) !== 0;
  }

  /** Whether a restriction takes away ownership: an owner could rename a restricted table, and then read it unrestricted (seen on 483). */
  private get losesOwnership(): boolean {
    return this.isRestricted || (this.flags & OWNERSHIP_TAKEN) !== 0;
  }

  private get heldBits(): number {
    if (this.isClosedCompanion) return 0;
    const { lostBits } = this.restrictions.restrictionEffect(this.flags);
    return this.givenRights & ~this.takenRights & ~lostBits & ~(this.losesOwnership ? OWNERSHIP : 0);
  }

  has(right: DataRight | RoutineRight): boolean {
    return (this.heldBits & bit(right)) !== 0;
  }

  /** The access to the catalog that the user's rights at this node need; null: the user has no rights at this node. */
  neededMode({ ownsSchema }: { ownsSchema: boolean }): 'all' | 'read-only' | null {
    const usedRights = ownsSchema ? this.heldBits : this.heldBits & ~SCHEMA_OWNER;
    if (usedRights === 0) return null;
    return (usedRights & ~READ_ONLY_RIGHTS) === 0 ? 'read-only' : 'all';
  }

  /** The rights and restrictions in a table rule for this state. States of one snapshot with equal effects share one object. */
  get effect(): RuleEffect {
    return (this.cachedEffect ??= this.restrictions.effect(this.heldBits & DATA_RIGHT_BITS, this.flags));
  }

  /** Columns with two different masks on the nearest node that masks the column. Empty if the user has no rights to data at this node. */
  get conflictColumns(): readonly string[] {
    return (this.heldBits & DATA_RIGHT_BITS) === 0
      ? []
      : this.restrictions.restrictionEffect(this.flags).conflictColumns;
  }

  private static of(restrictions: Restrictions, givenRights: number, takenRights: number, flags: number): AccessState {
    const statesByTakenRights = getOrInsert(
      restrictions.statesByRights,
      (givenRights << FLAG_BIT_COUNT) | flags,
      () => new Map<number, AccessState>(),
    );
    const createState = () => new AccessState(restrictions, givenRights, takenRights, flags);
    return getOrInsert(statesByTakenRights, takenRights, createState);
  }
}

type Restriction = Extract<EntryEffect, { kind: 'filter' | 'hide' | 'mask' }>;

interface RestrictionEffect {
  ruleFields: Omit<RuleEffect, 'privileges'>;
  lostBits: number;
  conflictColumns: readonly string[];
}

/** The filters, masks and hidden columns for a user, as a linked list that shares its prefix with other lists. */
class Restrictions {
  /** The states with these restrictions, kept so that equal states are one object. Outer key: given rights and flags. Inner key: taken rights. */
  readonly statesByRights = new Map<number, Map<number, AccessState>>();
  private readonly listsByRestriction = new Map<string, Restrictions>();
  readonly emptyList: Restrictions;
  private readonly effectsByText: Map<string, RuleEffect>;
  private readonly cachedEffects: Partial<Record<keyof typeof ALSO_HIDDEN_COLUMNS, RestrictionEffect>> = {};

  constructor(
    private readonly prefix: Restrictions | null,
    private readonly lastEntry: Restriction | null,
  ) {
    this.emptyList = prefix?.emptyList ?? this;
    this.effectsByText = prefix?.effectsByText ?? new Map<string, RuleEffect>();
  }

  get isEmpty(): boolean {
    return this.lastEntry === null;
  }

  withRestriction(restriction: Restriction): Restrictions {
    return getOrInsert(this.listsByRestriction, restrictionKey(restriction), () => new Restrictions(this, restriction));
  }

  effect(rights: number, flags: number): RuleEffect {
    const { columns, filter } = this.restrictionEffect(flags).ruleFields;
    const isReadOnly =
      (rights & WRITE_RIGHTS) === 0 &&
      (rights & READ_RIGHTS) !== 0 &&
      (flags & (OPEN_TO_READERS | CLOSED_CATALOG)) === 0;
    const rowFilter = filter ?? (isReadOnly ? EVERY_ROW : undefined);
    const effect = {
      privileges: rulePrivileges(rights),
      ...(rights !== 0 && columns && { columns }),
      ...(rights !== 0 && rowFilter !== undefined && { filter: rowFilter }),
    };
    return getOrInsert(this.effectsByText, JSON.stringify(effect), () => effect);
  }

  restrictionEffect(flags: number): RestrictionEffect {
    const storageKind = (flags & HAS_RAW_COLUMNS) === 0 ? 'plain' : 'raw';
    return (this.cachedEffects[storageKind] ??= effectOf(
      [...Restrictions.entriesNearestFirst(this)],
      ALSO_HIDDEN_COLUMNS[storageKind],
    ));
  }

  private static *entriesNearestFirst(restrictions: Restrictions): Iterable<Restriction> {
    for (let list: Restrictions | null = restrictions; list?.lastEntry; list = list.prefix) yield list.lastEntry;
  }
}

/** The privileges of a rule. SELECT is left out if there is GRANT_SELECT, which also allows reading (seen on 483). */
function rulePrivileges(heldBits: number): TablePrivilege[] {
  const omittedRights = (heldBits & bit('GRANT_SELECT')) === 0 ? 0 : bit('SELECT');
  return TABLE_PRIVILEGES.filter((privilege) => (heldBits & ~omittedRights & bit(privilege)) !== 0);
}

/** The effect of restrictions, which are sorted nearest first. If any column is masked or hidden, the columns `alsoHiddenColumns` are hidden, too. */
function effectOf(restrictions: readonly Restriction[], alsoHiddenColumns: readonly string[]): RestrictionEffect {
  const { rules, conflictColumns } = columnsOf(restrictions);
  const filter = filterOf(restrictions);
  const columns = rules.length > 0 ? withHiddenColumns(rules, alsoHiddenColumns) : undefined;
  const isMasked = columns?.some(({ mask }) => mask !== undefined) === true;
  const lostBits = (filter === '' ? 0 : LOST_TO_FILTERS) | (isMasked ? LOST_TO_MASKS : 0);
  return {
    ruleFields: { ...(columns && { columns }), ...(filter !== '' && { filter }) },
    lostBits,
    conflictColumns,
  };
}

/** Columns that show where a row is stored, and thereby the values of partition columns (seen on 483). */
const STORAGE_COLUMNS = ['$bucket', '$partition', '$path'];
/** Columns that are hidden together with any masked or hidden column. `raw`: in catalogs with columns that repeat the whole row. */
const ALSO_HIDDEN_COLUMNS = {
  plain: STORAGE_COLUMNS,
  raw: [...STORAGE_COLUMNS, '_headers', '_key', '_message', '_source', '_value'],
};

function withHiddenColumns(columns: readonly ColumnRule[], names: readonly string[]): ColumnRule[] {
  const otherColumns = columns.filter(({ name }) => !names.includes(name));
  return [...otherColumns, ...names.map((name) => ({ name, allow: false }))].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A filter that passes every row. It prevents `ALTER TABLE … EXECUTE`, which the engine refuses on filtered tables (seen on 483). */
export const EVERY_ROW = 'true';

/** All filters joined with AND, independent of their order; empty without filters. */
function filterOf(restrictions: readonly Restriction[]): string {
  const expressions = new Set(restrictions.flatMap((each) => (each.kind === 'filter' ? [each.expression] : [])));
  return Array.from(expressions)
    .sort()
    .map((expression) => `(${expression})`)
    .join(' AND ');
}

/** Column rules. Of a column's masks, the one on the deepest node applies; two different masks on that node hide the column. A hidden column has no mask. */
function columnsOf(restrictions: readonly Restriction[]): { rules: ColumnRule[]; conflictColumns: string[] } {
  const rules = new Map<string, ColumnRule>();
  const nearestMasks = new Map<string, Restriction & { kind: 'mask' }>();
  const conflictColumns = new Set<string>();
  for (const entry of restrictions) {
    if (entry.kind === 'hide') rules.set(entry.column, { name: entry.column, allow: false });
    if (entry.kind !== 'mask') continue;
    const nearestMask = nearestMasks.get(entry.column);
    if (nearestMask !== undefined && nearestMask.depth > entry.depth) continue;
    if (nearestMask !== undefined && nearestMask.expression !== entry.expression) conflictColumns.add(entry.column);
    nearestMasks.set(entry.column, entry);
  }
  for (const column of conflictColumns) rules.set(column, { name: column, allow: false });
  for (const [name, { expression: mask }] of nearestMasks) if (!rules.has(name)) rules.set(name, { name, mask });
  return {
    rules: [...rules.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    conflictColumns: [...conflictColumns].sort(),
  };
}

/** A key for a restriction. Only equal restrictions have equal keys. */
function restrictionKey(restriction: Restriction): string {
  switch (restriction.kind) {
    case 'filter':
      return JSON.stringify([restriction.expression]);
    case 'hide':
      return JSON.stringify([restriction.column, 'hidden']);
    case 'mask':
      return JSON.stringify([restriction.column, restriction.depth, restriction.expression]);
  }
}

function rightBits(privileges: readonly Privilege[], direction: 'gives' | 'takes'): number {
  return privileges.reduce((all, privilege) => all | (BITS_OF_PRIVILEGE.get(privilege)?.[direction] ?? 0), 0);
}

const RIGHTS = [...DATA_RIGHTS, ...ROUTINE_RIGHTS];

function bit(right: DataRight | RoutineRight): number {
  return 1 << RIGHTS.indexOf(right);
}

const bits = (rights: readonly (DataRight | RoutineRight)[]): number =>
  rights.reduce((all, right) => all | bit(right), 0);
const BITS_OF_PRIVILEGE = new Map<string, Record<'gives' | 'takes', number>>(
  Object.entries(RIGHTS_OF_PRIVILEGES).map(([privilege, { gives, takes }]) => [
    privilege,
    { gives: bits(gives), takes: bits(takes) },
  ]),
);

const DATA_RIGHT_BITS = bits(DATA_RIGHTS);
const SELECT = bit('SELECT');
const READ_RIGHTS = SELECT | bit('GRANT_SELECT');
const WRITE_RIGHTS = bits(['INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP']);
/** Rights that a filter takes away: TRUNCATE needs DELETE and ignores filters, and the engine refuses UPDATE on filtered tables (seen on 483). */
const LOST_TO_FILTERS = bits(['DELETE', 'UPDATE']);
/** Rights that a mask takes away: TRUNCATE needs DELETE and ignores masks, and the engine refuses other writing on masked tables (seen on 483). */
const LOST_TO_MASKS = bits(['INSERT', 'DELETE', 'UPDATE']);
/** Rights for which `read-only` access to the catalog is enough (seen on 483). */
const READ_ONLY_RIGHTS = bits(ROUTINE_RIGHTS) | bit('SELECT');
const SCHEMA_OWNER = bit('owner');
const OWNERSHIP = bit('OWNERSHIP') | SCHEMA_OWNER;

const OPEN_TO_READERS = 1;
const HAS_RAW_COLUMNS = 2;
const OWNERSHIP_TAKEN = 4;
const CLOSED_COMPANION = 8;
/** A flag of the two catalogs in which grants and policies on everything do not apply: `system` and the metadata catalog. */
const CLOSED_CATALOG = 16;
const FLAG_BIT_COUNT = 5;
