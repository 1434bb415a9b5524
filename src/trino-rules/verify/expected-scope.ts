import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { AccessSets, type SchemaAccess, type TableAccess } from '../engine/schema-comparison.js';
import {
  addMember,
  bitset,
  addWord,
  type Bitset,
  allWordIndexes,
  isMember,
  wordAt,
  type WordMarks,
} from '../engine/sparse-bitset.js';
import { type Access, onlyReads } from '../model/intent.js';
import { type Privilege, PRIVILEGE_TERMS, PRIVILEGES, privilegesGivenBy } from '../model/privilege.js';
import { baseNames, restrictsData, restrictsReading } from '../model/restrictions.js';
import { type AccessEntry, type EntryNode, InternedAccess } from './access-entries.js';
import { READERS_FILTER, type TablePrivilege } from '../document/rules-document.js';

/** The access that the proof expects at the root, a catalog or a schema, and at its children. Computed from grants and policies without the compiler. */
export class ExpectedScope implements SchemaAccess {
  /** The access at this node, and at tables without grants, policies or settings of their own. */
  readonly unnamedTables: ExpectedAccess;
  private readonly internedAccess: readonly InternedAccess[];
  private readonly affectedPositions: readonly number[];
  /** Users who may read no companion (`table$suffix`) at all, because a policy on this node or above restricts their reading. */
  private readonly closedPositions: readonly number[];
  private readonly tableAccess: ExpectedAccess;
  private wordsToClear: Uint32Array = NO_WORDS;

  constructor(
    private readonly reach: ExpectedReach,
    private readonly node: EntryNode | undefined,
    parent: ExpectedScope | null = null,
    private readonly restrictedUsers: Bitset = NO_USERS,
  ) {
    const noAccess = new InternedAccess();
    const parentAccess = parent?.internedAccess ?? Array.from({ length: reach.userCount }, () => noAccess);
    const users = accessByUser(node, parentAccess);
    this.affectedPositions = [...users.keys()];
    const isSameAsParent = parent !== null && users.size === 0;
    this.internedAccess = isSameAsParent ? parentAccess : parentAccess.map((each, i) => users.get(i) ?? each);
    const newClosedPositions = this.affectedPositions.filter(
      (position) => this.internedAccess[position]?.isReadingRestricted && !parentAccess[position]?.isReadingRestricted,
    );
    this.closedPositions = [...(parent?.closedPositions ?? []), ...newClosedPositions];
    this.unnamedTables = isSameAsParent ? parent.unnamedTables : reach.newAccess();
    this.tableAccess = reach.newAccess();
    for (const [access, positions] of groupByAccess(users)) {
      const ownerPositions = positions.filter((position) => !isMember(restrictedUsers, position));
      const nonOwnerPositions = positions.filter((position) => isMember(restrictedUsers, position));
      reach.addUsers(ownerPositions, access.privileges);
      reach.addUsers(
        nonOwnerPositions,
        access.privileges.filter((each) => MORE_THAN_SCHEMA_OWNERSHIP.has(each)),
      );
      this.unnamedTables.addAccess(positions, access);
    }
    if (parent !== null && !isSameAsParent)
      this.unnamedTables.inherit(
        parent.unnamedTables,
        allWordIndexes(reach.wordCount),
        bitset(reach.wordCount, users.keys()),
      );
  }

  /** The access at the catalog `name`. Called on the root's scope only. @param reach receives all users with access in the catalog */
  catalogScope(name: string, reach: ExpectedReach): ExpectedScope {
    const scope = new ExpectedScope(reach, this.node?.children.get(name), this);
    for (const position of this.affectedPositions) {
      const access = scope.internedAccess[position];
      // The constructor left out users with the same access as at the root. They are added here.
      if (access !== undefined && access === this.internedAccess[position])
        reach.addUsers([position], access.access.privileges);
    }
    return scope;
  }

  /** Owners of the schema, without users with a restricted table in it, because an owner could drop the table. */
  get owners(): Bitset {
    return this.unnamedTables.owners.map((word, index) => word & ~wordAt(this.restrictedUsers, index));
  }

  /** Sorted names of the children with entries (grants, policies, settings) or with a descendant that has entries. */
  childNames(): string[] {
    return [...(this.node?.children.keys() ?? [])].sort();
  }

  childScope(name: string): ExpectedScope {
    const schema = this.node?.children.get(name);
    return new ExpectedScope(this.reach, schema, this, usersRestrictedBelow(schema, this.reach.wordCount));
  }

  /** Tables that grants, policies or settings name, and names that represent the companions (`table$suffix`) of tables with restricted reading. */
  namedTables(): string[] {
    const children = [...(this.node?.children ?? [])];
    const restrictedTables = children.filter(([, { entries }]) => entries.some(isRestrictingReading));
    const companions = restrictedTables.map(([name]) => freshCompanion(name));
    return [...this.childNames(), ...companions, ...(this.closedPositions.length === 0 ? [] : [freshCompanion(null)])];
  }

  markWords(name: string, marks: WordMarks): void {
    const { entries = [], isEvaluatedForAll = false } = this.node?.children.get(name) ?? {};
    if (isEvaluatedForAll) marks.addAllWords();
    for (const { members } of entries) marks.addPositions(members);
    for (const positions of this.closedPositionsAt(name)) marks.addPositions(positions);
  }

  /** Lists of users to whom restrictions deny the companion `name` (`table$suffix`). */
  private closedPositionsAt(name: string): (readonly number[])[] {
    if (!name.includes('$')) return [];
    const entries = baseNames(name).flatMap((baseName) => this.node?.children.get(baseName)?.entries ?? []);
    return [this.closedPositions, ...entries.filter(isRestrictingReading).map(({ members }) => members)];
  }

  accessAt(name: string, activeWords: Uint32Array): ExpectedAccess {
    const users = accessByUser(this.node?.children.get(name), this.internedAccess);
    for (const positions of this.closedPositionsAt(name))
      for (const position of positions) users.set(position, CLOSED_ACCESS);
    this.tableAccess.clear(this.wordsToClear);
    this.wordsToClear = activeWords;
    if (activeWords.length === 0) return this.tableAccess;
    for (const [access, positions] of groupByAccess(users)) {
      this.tableAccess.addAccess(positions, access);
      // Owning a schema gives no access to its tables, so this ownership is left out here.
      this.reach.addUsers(
        positions,
        access.privileges.filter((each) => MORE_THAN_SCHEMA_OWNERSHIP.has(each)),
      );
    }
    this.tableAccess.inherit(this.unnamedTables, activeWords, bitset(this.reach.wordCount, users.keys()));
    return this.tableAccess;
  }
}

/** Collects users with any access in a catalog, who therefore need access to the catalog itself. */
export class ExpectedReach {
  readonly usersWithAccess: Bitset;
  readonly usersBeyondReading: Bitset;

  constructor(
    readonly userCount: number,
    readonly wordCount: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.usersWithAccess = new Uint32Array(wordCount);
    this.usersBeyondReading = new Uint32Array(wordCount);
  }

  newAccess(): ExpectedAccess {
    return new ExpectedAccess(this.wordCount, this.isOpenToReaders);
  }

  addUsers(positions: readonly number[], privileges: readonly Privilege[]): void {
    if (privileges.length === 0) return;
    const needsModeAll = privileges.some((privilege) => PRIVILEGE_TERMS[privilege].catalogMode === 'all');
    for (const position of positions) {
      addMember(this.usersWithAccess, position);
      if (needsModeAll) addMember(this.usersBeyondReading, position);
    }
  }
}

/** Privileges that give more than ownership of schemas. OWNERSHIP is one of them, because it also includes ownership of tables. */
const MORE_THAN_SCHEMA_OWNERSHIP = new Set(
  PRIVILEGES.filter((each) => [...privilegesGivenBy([each])].some((given) => !PRIVILEGE_TERMS[given].ownsSchemas)),
);

/** The access of the users to whom grants or policies at a node apply, by the user's number. */
function accessByUser(
  node: EntryNode | undefined,
  parentAccess: readonly InternedAccess[],
): Map<number, InternedAccess> {
  const users = new Map<number, InternedAccess>();
  for (const { source, members } of node?.entries ?? [])
    for (const position of members) {
      const access = users.get(position) ?? parentAccess[position] ?? CLOSED_ACCESS;
      users.set(position, access.withSource(source));
    }
  return users;
}

function isRestrictingReading({ source }: AccessEntry): boolean {
  return 'policy' in source && restrictsReading(source.policy);
}

function usersRestrictedBelow(node: EntryNode | undefined, wordCount: number): Bitset {
  const restrictedUsers = new Uint32Array(wordCount);
  for (const { entries } of node?.children.values() ?? []) {
    for (const { source, members } of entries) {
      if ('policy' in source && restrictsData(source.policy))
        for (const position of members) addMember(restrictedUsers, position);
    }
  }
  return restrictedUsers;
}

const CLOSED_ACCESS = InternedAccess.closedAccess();
const NO_WORDS = new Uint32Array(0);
const NO_USERS: Bitset = new Uint32Array(0);

/** Groups users by access, so that for example a hundred hidden columns are added once for all users with the same access. */
function groupByAccess(users: ReadonlyMap<number, InternedAccess>): Map<Access, readonly number[]> {
  const positionsByAccess = new Map<Access, number[]>();
  for (const [position, { access }] of users) getOrInsert(positionsByAccess, access, () => []).push(position);
  return positionsByAccess;
}

class ExpectedAccess implements TableAccess {
  readonly userSets: AccessSets;
  readonly owners: Bitset;

  /** @param isOpenToReaders whether users who only read may run table procedures */
  constructor(
    wordCount: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.userSets = new AccessSets(wordCount, null);
    this.owners = new Uint32Array(wordCount);
  }

  holders(privilege: TablePrivilege): Bitset {
    return this.userSets.usersByPrivilege[privilege];
  }

  addAccess(positions: readonly number[], access: Access): void {
    const { privileges, filters, hiddenColumns, masks } = access;
    const addTo = (userSet: Bitset): void => {
      for (const position of positions) addMember(userSet, position);
    };
    for (const privilege of privileges) {
      const { tablePrivilege, ownsSchemas } = PRIVILEGE_TERMS[privilege];
      if (tablePrivilege !== null) addTo(this.userSets.usersByPrivilege[tablePrivilege]);
      if (ownsSchemas) addTo(this.owners);
    }
    if (!this.isOpenToReaders && filters.length === 0 && onlyReads(access))
      addTo(this.userSets.usersWithFilter(READERS_FILTER));
    for (const expression of filters) addTo(this.userSets.usersWithFilter(`(${expression})`));
    for (const column of hiddenColumns) addTo(this.userSets.usersWithHiddenColumn(column));
    for (const { column, expression } of masks) addTo(this.userSets.usersWithMask(column, expression));
  }

  inherit({ userSets: sets, owners }: ExpectedAccess, activeWords: Uint32Array, excludedUsers: Bitset): void {
    this.userSets.inherit(sets, activeWords, excludedUsers);
    for (const index of activeWords) addWord(this.owners, index, wordAt(owners, index) & ~wordAt(excludedUsers, index));
  }

  /** Empties the sets. Only their words in `activeWords` can contain users. */
  clear(activeWords: Uint32Array): void {
    for (const index of activeWords) this.owners[index] = 0;
    this.userSets.clear(activeWords);
  }
}
