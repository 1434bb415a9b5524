import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { AccessSets, type SchemaAccess, type TableAccess } from '../engine/schema-comparison.js';
import {
  addMember,
  addWord,
  type Bitset,
  allWordIndexes,
  isMember,
  wordAt,
  type WordMarks,
} from '../engine/sparse-bitset.js';
import { type Access, NO_ACCESS, onlyReads } from '../model/intent.js';
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
    const { users, wordCount } = reach;
    const noAccess = new InternedAccess();
    const parentAccess = parent?.internedAccess ?? Array.from({ length: reach.userCount }, () => noAccess);
    users.enterNode(node, parentAccess);
    this.affectedPositions = [...users.positions];
    const isSameAsParent = parent !== null && this.affectedPositions.length === 0;
    this.internedAccess = isSameAsParent ? parentAccess : parentAccess.map((each, i) => users.accessOfUser(i) ?? each);
    const newClosedPositions = this.affectedPositions.filter(
      (position) => this.internedAccess[position]?.isReadingRestricted && !parentAccess[position]?.isReadingRestricted,
    );
    this.closedPositions = [...(parent?.closedPositions ?? []), ...newClosedPositions];
    this.unnamedTables = isSameAsParent ? parent.unnamedTables : reach.newAccess();
    this.tableAccess = reach.newAccess();
    for (const [access, positions] of groupByAccess(this.affectedPositions, this.internedAccess)) {
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
      this.unnamedTables.inherit(parent.unnamedTables, allWordIndexes(wordCount), users.memberSet);
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
    const { users } = this.reach;
    users.enterNode(this.node?.children.get(name), this.internedAccess);
    for (const positions of this.closedPositionsAt(name))
      for (const position of positions) users.setAccess(position, CLOSED_ACCESS);
    this.tableAccess.clear(this.wordsToClear);
    this.wordsToClear = activeWords;
    if (activeWords.length === 0) return this.tableAccess;
    for (const [access, positions] of groupByAccess(users.positions, users.internedAccess)) {
      this.tableAccess.addAccess(positions, access);
      // Owning a schema gives no access to its tables, so this ownership is left out here.
      this.reach.addUsers(
        positions,
        access.privileges.filter((each) => MORE_THAN_SCHEMA_OWNERSHIP.has(each)),
      );
    }
    this.tableAccess.inherit(this.unnamedTables, activeWords, users.memberSet);
    return this.tableAccess;
  }
}

/** Collects users with any access in a catalog, who therefore need access to the catalog itself. */
export class ExpectedReach {
  readonly usersWithAccess: Bitset;
  readonly usersBeyondReading: Bitset;
  /** A buffer that is reused for each node. */
  readonly users: UsersAtNode;

  constructor(
    readonly userCount: number,
    readonly wordCount: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.usersWithAccess = new Uint32Array(wordCount);
    this.usersBeyondReading = new Uint32Array(wordCount);
    this.users = new UsersAtNode(userCount, wordCount);
  }

  newAccess(): ExpectedAccess {
    return new ExpectedAccess(this.wordCount, this.isOpenToReaders);
  }

  usersOnlyReading(): Bitset {
    return this.usersWithAccess.map((word, index) => word & ~wordAt(this.usersBeyondReading, index));
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

/** Users to whom grants or policies at a node apply, with their access. Arrays by user number are faster here than a map for each node. */
class UsersAtNode {
  positions: number[] = [];
  /** Access by the user's number. Only the elements at `positions` belong to the current node. */
  readonly internedAccess: InternedAccess[];
  readonly memberSet: Bitset;

  constructor(userCount: number, wordCount: number) {
    this.internedAccess = Array.from({ length: userCount }, () => CLOSED_ACCESS);
    this.memberSet = new Uint32Array(wordCount);
  }

  enterNode(node: EntryNode | undefined, parentAccess: readonly InternedAccess[]): void {
    for (const position of this.positions) this.memberSet[position >>> 5] = 0;
    this.positions = [];
    for (const { source, members } of node?.entries ?? []) {
      let lastExtension = { before: CLOSED_ACCESS, after: CLOSED_ACCESS.withSource(source) };
      for (const position of members) {
        const access = this.accessOfUser(position) ?? parentAccess[position] ?? CLOSED_ACCESS;
        if (access !== lastExtension.before) lastExtension = { before: access, after: access.withSource(source) };
        this.setAccess(position, lastExtension.after);
      }
    }
  }

  accessOfUser(position: number): InternedAccess | undefined {
    return isMember(this.memberSet, position) ? this.internedAccess[position] : undefined;
  }

  setAccess(position: number, internedAccess: InternedAccess): void {
    if (!isMember(this.memberSet, position)) this.positions.push(position);
    addMember(this.memberSet, position);
    this.internedAccess[position] = internedAccess;
  }
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
function groupByAccess(
  positions: Iterable<number>,
  internedAccess: readonly InternedAccess[],
): Map<Access, readonly number[]> {
  const positionsByAccess = new Map<Access, number[]>();
  let [last, group]: [Access, number[]] = [NO_ACCESS, []];
  for (const position of positions) {
    const access = internedAccess[position]?.access ?? NO_ACCESS;
    if (access !== last || group.length === 0)
      [last, group] = [access, getOrInsert(positionsByAccess, access, () => [])];
    group.push(position);
  }
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
