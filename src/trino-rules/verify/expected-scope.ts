import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { AccessSets, type SchemaAccess, type TableAccess } from '../engine/schema-comparison.js';
import {
  addMember,
  addSparse,
  bitset,
  type Bitset,
  sparseBitset,
  type SparseBitset,
  wordAt,
  type WordMarks,
} from '../engine/sparse-bitset.js';
import { type Access, readsAlone } from '../model/intent.js';
import { type Privilege, PRIVILEGE_TERMS, PRIVILEGES, withContained } from '../model/privilege.js';
import { basesOf, restrictsData, restrictsReading } from '../model/restrictions.js';
import { type AccessEntry, type EntryNode, InternedAccess } from './access-entries.js';
import { READERS_FILTER, type TablePrivilege } from '../document/rules-document.js';

/** Access at the root, a catalog or a schema, and right below it, computed by the proof from the raw grants. */
export class ExpectedScope implements SchemaAccess {
  /** Access here and at all nodes below without an entry of their own. */
  readonly everywhere: ExpectedAccess;
  /** The access of each user here, by position. */
  private readonly interned: readonly InternedAccess[];
  private readonly own: readonly number[];
  private readonly here: ExpectedAccess;
  private knownClosed: readonly number[] | null = null;
  private dirty: Uint32Array = NOWHERE;

  private constructor(
    private readonly reach: ExpectedReach,
    private readonly node: EntryNode | undefined,
    above: readonly InternedAccess[],
    inherited?: ExpectedAccess,
    /** Users to whom a table of this schema is restricted. */
    private readonly restricted: ReadonlySet<number> = NOBODY,
  ) {
    const own = internedByPosition(node, above);
    this.own = [...own.keys()];
    this.interned = own.size === 0 ? above : above.map((each, position) => own.get(position) ?? each);
    this.everywhere = own.size === 0 && inherited ? inherited : reach.access();
    this.here = reach.access();
    for (const [access, positions] of alike(own)) {
      const owning = positions.filter((position) => !restricted.has(position));
      const others = positions.filter((position) => restricted.has(position));
      reach.addUsers(owning, access.privileges);
      reach.addUsers(others, access.privileges.filter(givesMoreThanSchemaOwnership));
    }
    if (this.everywhere === inherited) return;
    for (const [access, positions] of alike(this.interned.entries()))
      this.everywhere.add(sparseBitset(positions), access);
  }

  /** @param reach collects users with any access while the levels below are walked */
  static top(reach: ExpectedReach, node: EntryNode | undefined): ExpectedScope {
    const nothing = new InternedAccess();
    const nobody = Array.from({ length: reach.count }, () => nothing);
    return new ExpectedScope(reach, node, nobody);
  }

  /** A catalog of this root. @param reach collects users with any access in it */
  catalog(name: string, reach: ExpectedReach): ExpectedScope {
    const catalog = new ExpectedScope(reach, this.node?.children.get(name), this.interned, this.everywhere);
    for (const position of this.own) {
      const access = catalog.interned[position];
      // Users whose access the catalog changes have been noted by its constructor.
      if (access !== undefined && access === this.interned[position])
        reach.addUsers([position], access.access.privileges);
    }
    return catalog;
  }

  /** Owners of the schema, without users to whom a table is restricted, which an owner could drop. */
  get owners(): Bitset {
    const { everywhere, restricted, reach } = this;
    if (restricted.size === 0) return everywhere.owners;
    const without = bitset(reach.width, restricted);
    return everywhere.owners.map((word, index) => word & ~wordAt(without, index));
  }

  /** Children that have an entry, or a descendant with one, sorted. */
  names(): string[] {
    return [...(this.node?.children.keys() ?? [])].sort();
  }

  child(name: string): ExpectedScope {
    const schema = this.node?.children.get(name);
    return new ExpectedScope(this.reach, schema, this.interned, this.everywhere, restrictedBelow(schema));
  }

  /** Tables of a schema with entries, and an unnamed companion of each restricted one. */
  tables(): string[] {
    const bases = [...(this.node?.children ?? [])].filter(([, { entries }]) => entries.some(isRestrictingReading));
    const ofAny = this.closed.length === 0 ? [] : [freshCompanion(null)];
    return [...this.names(), ...bases.map(([name]) => freshCompanion(name)), ...ofAny];
  }

  mark(name: string, marks: WordMarks): void {
    const { entries = [], isAsked = false } = this.node?.children.get(name) ?? {};
    if (isAsked) marks.addEvery();
    for (const { members } of entries) marks.addPositions(members);
    for (const positions of this.closedAt(name)) marks.addPositions(positions);
  }

  /** Users to whom all companions in the schema are closed, by a restriction on it or above. */
  private get closed(): readonly number[] {
    const closed = () => this.interned.flatMap((each, position) => (each.isReadingRestricted ? [position] : []));
    return (this.knownClosed ??= closed());
  }

  /** Users to whom a table is closed as a companion. */
  private closedAt(name: string): (readonly number[])[] {
    if (!name.includes('$')) return [];
    const entries = basesOf(name).flatMap((base) => this.node?.children.get(base)?.entries ?? []);
    return [this.closed, ...entries.filter(isRestrictingReading).map(({ members }) => members)];
  }

  at(name: string, active: Uint32Array): ExpectedAccess {
    const interned = internedByPosition(this.node?.children.get(name), this.interned);
    for (const positions of this.closedAt(name)) for (const position of positions) interned.set(position, CLOSED);
    this.here.clear(this.dirty);
    this.dirty = active;
    if (active.length === 0) return this.here;
    for (const [access, positions] of alike(interned)) {
      this.here.add(sparseBitset(positions), access);
      // Ownership of schemas gives nothing on a table.
      this.reach.addUsers(positions, access.privileges.filter(givesMoreThanSchemaOwnership));
    }
    this.here.sets.inherit(this.everywhere.sets, active, bitset(this.reach.width, interned.keys()));
    return this.here;
  }
}

/** Collects users with access to anything in a catalog, and so with a mode of it. */
export class ExpectedReach {
  readonly any: Bitset;
  /** Users with access that needs the mode `all`. */
  readonly beyondReading: Bitset;

  constructor(
    readonly count: number,
    readonly width: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.any = new Uint32Array(width);
    this.beyondReading = new Uint32Array(width);
  }

  access(): ExpectedAccess {
    return new ExpectedAccess(this.width, this.isOpenToReaders);
  }

  /** Users who need only the mode `read-only`. */
  onlyReading(): Bitset {
    return this.any.map((word, index) => word & ~wordAt(this.beyondReading, index));
  }

  addUsers(positions: readonly number[], privileges: readonly Privilege[]): void {
    if (privileges.length === 0) return;
    const isBeyond = privileges.some((privilege) => PRIVILEGE_TERMS[privilege].mode === 'all');
    for (const position of positions) {
      addMember(this.any, position);
      if (isBeyond) addMember(this.beyondReading, position);
    }
  }
}

const MORE_THAN_SCHEMA_OWNERSHIP = new Set(
  PRIVILEGES.filter((privilege) => [...withContained([privilege])].some((each) => !PRIVILEGE_TERMS[each].ownsSchemas)),
);

/** Whether a privilege gives more than ownership of schemas. OWNERSHIP does: it also includes ownership of tables. */
function givesMoreThanSchemaOwnership(privilege: Privilege): boolean {
  return MORE_THAN_SCHEMA_OWNERSHIP.has(privilege);
}

/** Users with an entry at a node, each with all entries that apply there. */
function internedByPosition(
  node: EntryNode | undefined,
  above: readonly InternedAccess[],
): Map<number, InternedAccess> {
  const interned = new Map<number, InternedAccess>();
  for (const { source, members } of node?.entries ?? []) {
    for (const position of members) {
      const before = interned.get(position) ?? above[position];
      if (before !== undefined) interned.set(position, before.withSource(source));
    }
  }
  return interned;
}

function isRestrictingReading({ source }: AccessEntry): boolean {
  return 'policy' in source && restrictsReading(source.policy);
}

/** Users to whom a policy on a child of the node applies. */
function restrictedBelow(node: EntryNode | undefined): Set<number> {
  const restricted = new Set<number>();
  for (const { entries } of node?.children.values() ?? []) {
    for (const { source, members } of entries) {
      if ('policy' in source && restrictsData(source.policy)) for (const position of members) restricted.add(position);
    }
  }
  return restricted;
}

const CLOSED = InternedAccess.closed();
const NOWHERE = new Uint32Array(0);
const NOBODY: ReadonlySet<number> = new Set();

/** Groups users by access: a hundred hidden columns then are a hundred sets, not a hundred for each user. */
function alike(interned: Iterable<[number, InternedAccess]>): Map<Access, number[]> {
  const positions = new Map<Access, number[]>();
  for (const [position, { access }] of interned) getOrInsert(positions, access, () => []).push(position);
  return positions;
}

/** Access at one node by the grants, which the proof compares with `ActualAccess`. */
class ExpectedAccess implements TableAccess {
  readonly sets: AccessSets;
  /** Owners of the schemas here. */
  readonly owners: Bitset;

  /** @param isOpenToReaders whether reading alone keeps table procedures */
  constructor(
    width: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.sets = new AccessSets(width, null);
    this.owners = new Uint32Array(width);
  }

  holders(privilege: TablePrivilege): Bitset {
    return this.sets.given[privilege];
  }

  /** Adds the access of users that are not in it yet. */
  add(people: SparseBitset, access: Access): void {
    const { privileges, filters, hidden, masks } = access;
    const record = (into: Bitset): void => addSparse(into, people);
    for (const privilege of privileges) {
      const { onTables, ownsSchemas } = PRIVILEGE_TERMS[privilege];
      if (onTables !== null) record(this.sets.given[onTables]);
      if (ownsSchemas) record(this.owners);
    }
    if (!this.isOpenToReaders && filters.length === 0 && readsAlone(access))
      record(this.sets.filteredBy(READERS_FILTER));
    for (const expression of filters) record(this.sets.filteredBy(`(${expression})`));
    for (const column of hidden) record(this.sets.hiddenFrom(column));
    for (const { column, expression } of masks) record(this.sets.maskedBy(column, expression));
  }

  /** Empties the sets, of which only the active words have been written. */
  clear(active: Uint32Array): void {
    for (const index of active) this.owners[index] = 0;
    this.sets.clear(active);
  }
}
