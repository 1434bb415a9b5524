import { getOrInsert } from '../../kernel/collections.js';
import { companionNames } from '../document/companions.js';
import type { SchemaAccess } from '../engine/schema-comparison.js';
import { addWord, bitset, sparseBitset, wordAt, type Bitset, type WordMarks } from '../engine/sparse-bitset.js';
import type { Access } from '../model/intent.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege, withContained } from '../model/privilege.js';
import { basesOf, restrictsData, restrictsReading } from '../model/restrictions.js';
import type { AccessEntry, EntryNode } from './access-entries.js';
import { ExpectedAccess } from './expected-access.js';
import { InternedAccess } from './interned-access.js';

/** What the grants give at the root, a catalog or a schema, and right below it: worked out by the proof, from the raw grants. */
export class ExpectedScope implements SchemaAccess {
  /** Here, and everywhere below that has no entry of its own. */
  readonly everywhere: ExpectedAccess;
  /** By position. */
  private readonly interned: readonly InternedAccess[];
  /** Users with an entry at this very node. */
  private readonly own: readonly number[];
  private readonly here: ExpectedAccess;
  private knownClosed: readonly number[] | null = null;
  private dirty: Uint32Array = NOWHERE;

  private constructor(
    private readonly reach: ExpectedReach,
    private readonly node: EntryNode | undefined,
    above: readonly InternedAccess[],
    inherited?: ExpectedAccess,
    /** Of a schema: those to whom one of its tables is restricted. */
    private readonly restricted: ReadonlySet<number> = NOBODY,
  ) {
    const own = internedByPosition(node, above);
    this.own = [...own.keys()];
    this.interned = own.size === 0 ? above : above.map((each, position) => own.get(position) ?? each);
    this.everywhere = own.size === 0 && inherited ? inherited : reach.access();
    this.here = reach.access();
    for (const [access, positions] of alike(own)) {
      const without = positions.filter((position) => restricted.has(position));
      reach.note(
        without.length === 0 ? positions : positions.filter((position) => !restricted.has(position)),
        access.privileges,
      );
      if (without.length > 0) reach.note(without, access.privileges.filter(isBesideSchemas));
    }
    if (this.everywhere === inherited) return;
    for (const [access, positions] of alike(this.interned.entries()))
      this.everywhere.add(sparseBitset(positions), access);
  }

  /** Where nothing is inherited. @param reach gathers the users that reach anything, while the levels below are walked */
  static top(reach: ExpectedReach, node: EntryNode | undefined): ExpectedScope {
    const nothing = new InternedAccess();
    const nobody = Array.from({ length: reach.count }, () => nothing);
    return new ExpectedScope(reach, node, nobody);
  }

  /** A catalog of this root. @param reach gathers the users that reach anything in it */
  catalog(name: string, reach: ExpectedReach): ExpectedScope {
    const catalog = new ExpectedScope(reach, this.node?.children.get(name), this.interned, this.everywhere);
    for (const position of this.own) {
      const access = catalog.interned[position];
      // The catalog has noted those that it changes.
      if (access !== undefined && access === this.interned[position]) reach.note([position], access.access.privileges);
    }
    return catalog;
  }

  /** Whoever owned the schema could drop a table in it that is restricted. */
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

  /** Of a schema: tables with entries, and for those that are restricted to somebody a companion that nothing names. */
  tables(): string[] {
    const bases = [...(this.node?.children ?? [])].filter(([, { entries }]) => entries.some(isRestrictingReading));
    const companions = companionNames({ bases: new Set(bases.map(([name]) => name)), isWithBases: false }).witnesses;
    const ofAny = this.closed.length === 0 ? [] : companionNames({ bases: null, isWithBases: false }).witnesses;
    return [...this.names(), ...companions, ...ofAny];
  }

  mark(name: string, marks: WordMarks): void {
    for (const { members } of this.node?.children.get(name)?.entries ?? []) marks.addPositions(members);
    for (const positions of this.closedAt(name)) marks.addPositions(positions);
  }

  /** Those to whom all companions in the schema are closed, by a restriction on it or above. */
  private get closed(): readonly number[] {
    return (this.knownClosed ??= this.interned.flatMap((each, position) =>
      each.isReadingRestricted ? [position] : [],
    ));
  }

  /** Those to whom a table is closed because its name makes it a companion. */
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
      // On a table, owning schemas is nothing.
      this.reach.note(positions, access.privileges.filter(isBesideSchemas));
    }
    this.here.inherit(this.everywhere, active, bitset(this.reach.width, interned.keys()));
    return this.here;
  }
}

/** Users that reach anything in a catalog, as it is walked: they need a mode of it. */
export class ExpectedReach {
  readonly any: Bitset;
  /** With anything for which the engine asks for the mode `all`. */
  readonly beyondReading: Bitset;

  constructor(
    readonly count: number,
    readonly width: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.any = new Uint32Array(width);
    this.beyondReading = new Uint32Array(width);
  }

  /** Of nobody yet, at a node of the catalog. */
  access(): ExpectedAccess {
    return new ExpectedAccess(this.width, this.isOpenToReaders);
  }

  /** Users that need no more than the mode `read-only`. */
  onlyReading(): Bitset {
    return this.any.map((word, index) => word & ~wordAt(this.beyondReading, index));
  }

  note(positions: readonly number[], privileges: readonly Privilege[]): void {
    if (privileges.length === 0) return;
    const isBeyond = privileges.some((privilege) => PRIVILEGE_TERMS[privilege].mode === 'all');
    for (const position of positions) {
      const [index, bit] = [position >>> 5, 1 << (position & 31)];
      addWord(this.any, index, bit);
      if (isBeyond) addWord(this.beyondReading, index, bit);
    }
  }
}

const BESIDE_SCHEMAS = new Set(
  PRIVILEGES.filter((privilege) => [...withContained([privilege])].some((each) => !PRIVILEGE_TERMS[each].ownsSchemas)),
);

/** Whether something is left of it where nobody owns the schema, in the same mode: of OWNERSHIP, the tables. */
function isBesideSchemas(privilege: Privilege): boolean {
  return BESIDE_SCHEMAS.has(privilege);
}

/** Users with an entry at a node, each with all entries that reach it there. */
function internedByPosition(
  node: EntryNode | undefined,
  above: readonly InternedAccess[],
): Map<number, InternedAccess> {
  const interned = new Map<number, InternedAccess>();
  for (const { source, members } of node?.entries ?? []) {
    for (const position of members) {
      const before = interned.get(position) ?? above[position];
      if (before !== undefined) interned.set(position, before.and(source));
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

/** Users with the same access are added together: a hundred hidden columns are a hundred sets, not as many for each user. */
function alike(interned: Iterable<[number, InternedAccess]>): Map<Access, number[]> {
  const positions = new Map<Access, number[]>();
  for (const [position, { access }] of interned) getOrInsert(positions, access, () => []).push(position);
  return positions;
}
