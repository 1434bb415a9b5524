import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { AccessSets, SchemaAccess, TableAccess } from '../engine/schema-comparison.js';
import {
  addAll,
  addWord,
  type Bitset,
  bitset,
  isMember,
  removeAll,
  wordAt,
  type WordMarks,
} from '../engine/sparse-bitset.js';
import { LOSSES_KEY, type BundleEntry, BundleIndex, fieldAt, fields, type NodeData, textsIn } from './bundle-index.js';

/** Users by the letter of a right. A letter without users may be missing. */
type UsersByLetter = ReadonlyMap<string, Bitset>;
type Restrictions = Pick<AccessSets, 'filters' | 'hiddenColumns' | 'masks'>;

/** The users to whom grants give rights at a node, and the users from whom policies take rights there. */
interface NodeRights extends Restrictions {
  grantedUsers: Map<string, Bitset>;
  /** By the letter of a right: users from whom policies take the right away. */
  deniedUsers: Map<string, Bitset>;
  /** Users with a mask in effect. These users may not write. */
  maskedUsers: Bitset;
  /** By the letter of a right: users who have the right by grants and keep it under policies. */
  remainingUsers: UsersByLetter;
}

/** The answers that the policy (Rego) gives from a bundle's data at one moment, for all users at once. */
export class BundleSets {
  readonly index: BundleIndex;
  readonly serviceAccounts: Bitset;
  readonly queryExecutors: Bitset;
  private readonly positionsByName: ReadonlyMap<string, number>;
  private readonly rightsBySchema = new Map<string, NodeRights>();
  private readonly usersByPath = new Map<string, Bitset>();

  constructor(
    private readonly data: unknown,
    users: readonly string[],
    now: number,
    readonly wordCount: number,
  ) {
    this.index = new BundleIndex(data, users, now, wordCount);
    this.positionsByName = new Map(users.map((name, position) => [name, position]));
    this.serviceAccounts = this.usersNamed(fields(fieldAt(data, 'services')).map(([name]) => name));
    const catalogs = this.childrenToEvaluate('', '');
    const usersByCatalog = catalogs.map(([catalog, users]) => intersection(users, this.usersInCatalog(catalog)));
    const executorSets = [this.usersWithRights('', ''), this.rightHolders([''], 'X'), this.killQueryCallers()];
    this.queryExecutors = this.union(this.serviceAccounts, ...executorSets, ...usersByCatalog);
  }

  union(...sets: readonly (Bitset | null | undefined)[]): Bitset {
    const union = new Uint32Array(this.wordCount);
    for (const set of sets) addAll(union, set);
    return union;
  }

  usersNamed(names: readonly string[]): Bitset {
    const positions = names.flatMap((name) => this.positionsByName.get(name) ?? []);
    return bitset(this.wordCount, positions);
  }

  usersSeeingCatalog(catalog: string): Bitset {
    const usersOfOpenSchemas = OPEN_SYSTEM_SCHEMAS.map((schema) => this.usersOfOpenSchema(catalog, schema, ''));
    return this.union(this.usersInCatalog(catalog), ...usersOfOpenSchemas);
  }

  usersSeeingSchema(catalog: string, schema: string): Bitset {
    return this.union(this.usersInSchema(catalog, schema), this.usersOfOpenSchema(catalog, schema, ''));
  }

  usersRestrictedIn(catalog: string): Bitset {
    const effectEntries = topKeys(catalog).map((topKey) => this.index.nodeAt(topKey, '', LOSSES_KEY).entries);
    return this.restrictedReaders(effectEntries);
  }

  routineHolders(catalog: string, schema: string, routine: string, letter: string): Bitset {
    return this.rightsAt(catalog, schema, `\t${routine}`).remainingUsers.get(letter) ?? this.union();
  }

  schemaAccess(catalog: string, schema: string): SchemaAccess {
    const { index } = this;
    const tableNodes = index.schemaData(catalog, schema);
    const isTable = (name: string) => name !== LOSSES_KEY && !name.startsWith('\t');
    const tables = index.childNames(catalog, schema).filter(isTable);
    const hasNoPolicy = (table: string) => !table.includes('$') && (tableNodes?.get(table)?.entries ?? []).length === 0;
    const isRestricted = (table: string) => tableNodes?.get(table)?.entries.some((each) => each.restrictsReading);
    const isRestrictedAbove = this.entriesByLevel(catalog, schema, '')
      .flat()
      .some((each) => each.restrictsReading);
    const companions = [...tables.filter(isRestricted), ...(isRestrictedAbove ? [null] : [])].map(freshCompanion);
    const unnamedTables = this.tableAccess(catalog, schema, '');
    const policyFreeTable = new PolicyFreeTable(this.rightsAt(catalog, schema, ''), unnamedTables);
    return {
      owners: this.rightsAt(catalog, schema, '').remainingUsers.get('O') ?? this.union(),
      unnamedTables,
      namedTables: () => [...tables, ...companions],
      markWords: (table: string, marks: WordMarks) => {
        if (!hasNoPolicy(table)) marks.addAllWords();
        for (const { users } of tableNodes?.get(table)?.grants ?? []) marks.add(users);
      },
      accessAt: (table, activeWords) =>
        hasNoPolicy(table) && catalog !== 'system'
          ? policyFreeTable.withGrants(tableNodes?.get(table)?.grants ?? [], activeWords)
          : this.tableAccess(catalog, schema, table),
    };
  }

  /** Users with the right `letter` over at least one target. @param targetKeys keys of principals; `''` is the key of the engine */
  rightHolders(targetKeys: readonly string[], letter: string): Bitset {
    const grants = this.index.grantsOverUsers.filter(isRightOver(targetKeys, letter));
    const holders = this.union(...grants.map(({ key }) => this.index.membersOf(key)));
    return subtract(holders, this.usersDenied(targetKeys, letter));
  }

  /** Users who may call `system.runtime.kill_query`: by a grant of the procedure, or because they may kill the queries of at least one owner. */
  killQueryCallers(): Bitset {
    const { index } = this;
    const queryKillerSets = index.grantsOverUsers.flatMap(({ key, targetKey, letters }) =>
      (letters.includes('K') ? textsIn(fieldAt(this.data, 'over', 'members', targetKey)) : []).flatMap((owner) => {
        const ownerKeys = index.ownerKeysOf(owner);
        const queryKillers = subtract(this.union(index.membersOf(key)), this.usersDenied(['', ...ownerKeys], 'K'));
        return ownerKeys.includes(targetKey) ? [queryKillers] : [];
      }),
    );
    const { deniedUsers, remainingUsers } = this.rightsAt('system', 'runtime', KILL_QUERY_KEY);
    const queryKillers = subtract(this.union(this.rightHolders([''], 'K'), ...queryKillerSets), deniedUsers.get('P'));
    return this.union(queryKillers, remainingUsers.get('P'));
  }

  impersonatorsOf(name: string): Bitset {
    const user = fieldAt(this.data, 'users', name);
    const keys = this.index.principalKeysOf(name);
    const isImpersonator = this.index.isLive(fieldAt(user, 'i'));
    if (!keys.includes('*') || fieldAt(user, 'z') === true || isImpersonator) return this.union();
    const canExecute = isMember(this.queryExecutors, this.positionsByName.get(name) ?? -1);
    const isOwnTarget = fieldAt(this.data, 'impersonation') === true && fieldAt(user, 'e') !== true && canExecute;
    const ownAccount = fieldAt(this.data, 'own');
    const ownAccountUsers = isOwnTarget && typeof ownAccount === 'string' ? this.usersNamed([ownAccount]) : null;
    return this.union(this.rightHolders(keys, 'A'), ownAccountUsers);
  }

  private usersDenied(targetKeys: readonly string[], letter: string): Bitset {
    return this.union(...this.index.deniesOverUsers.filter(isRightOver(targetKeys, letter)).map(({ users }) => users));
  }

  private entriesByLevel(catalog: string, schema: string, name: string): (readonly BundleEntry[])[] {
    const entriesAbove = topKeys(catalog).map((topKey) => this.index.nodeAt(topKey, '', '').entries);
    return [
      ...entriesAbove,
      ...[...new Set(['', name])].map((each) => this.index.nodeAt(catalog, schema, each).entries),
    ];
  }

  private rightsAt(catalog: string, schema: string, name: string): NodeRights {
    const { grants, entries } = this.index.nodeAt(catalog, schema, name);
    if (name !== '' && grants.length + entries.length > 0) return this.computeRights(catalog, schema, name);
    const key = JSON.stringify([catalog, schema]);
    return getOrInsert(this.rightsBySchema, key, () => this.computeRights(catalog, schema, ''));
  }

  private computeRights(catalog: string, schema: string, name: string): NodeRights {
    const { index, data } = this;
    const schemaRights = name === '' ? null : this.rightsAt(catalog, schema, '');
    const copyOfSets = (holders: UsersByLetter = new Map()) =>
      new Map([...holders].map(([letter, set]) => [letter, set.slice()]));
    const [grantedUsers, deniedUsers] = [copyOfSets(schemaRights?.grantedUsers), copyOfSets(schemaRights?.deniedUsers)];
    const nodeData = index.nodeAt(catalog, schema, name);
    const higherNodeData = schemaRights === null ? topKeys(catalog).map((topKey) => index.nodeAt(topKey, '', '')) : [];
    const isClosed = fieldAt(data, 'closed', catalog) === true;
    for (const { key, letters } of isClosed ? [] : [...higherNodeData, nodeData].flatMap((each) => each.grants))
      this.addUsers(grantedUsers, letters, index.membersOf(key));
    const servedLetters = fieldAt(data, 'served', catalog);
    if (schemaRights === null && typeof servedLetters === 'string')
      this.addUsers(grantedUsers, servedLetters, this.serviceAccounts);
    const catalogData = topKeys(catalog).map((topKey) => index.nodeAt(topKey, '', LOSSES_KEY));
    const sideEffects = schemaRights === null ? [...catalogData, index.nodeAt(catalog, schema, LOSSES_KEY)] : [];
    for (const { letters, users } of [...higherNodeData, nodeData, ...sideEffects].flatMap((each) => each.entries))
      this.addUsers(deniedUsers, letters, users);
    const storageColumns = textsIn(fieldAt(data, 'storage', catalog) ?? fieldAt(data, 'storage', ''));
    const restrictions = restrictionsOf(this.entriesByLevel(catalog, schema, name), storageColumns, this.wordCount);
    const maskSets = [...restrictions.masks.values()].flatMap((masksByText) => [...masksByText.values()]);
    const maskedUsers = this.union(...maskSets);
    const remainingUsers = new Map<string, Bitset>();
    for (const [letter, users] of grantedUsers)
      remainingUsers.set(letter, subtractDenied(users.slice(), letter, deniedUsers, maskedUsers));
    return { grantedUsers, deniedUsers, remainingUsers, ...restrictions, maskedUsers };
  }

  private addUsers(usersByLetter: Map<string, Bitset>, rightLetters: string, users: Bitset | undefined): void {
    const newSet = (): Bitset => this.union();
    for (const letter of rightLetters) addAll(getOrInsert(usersByLetter, letter, newSet), users);
  }

  private tableAccess(catalog: string, schema: string, table: string): TableAccess {
    const rights = this.rightsAt(catalog, schema, table);
    const closedUsers = this.usersClosedOut(catalog, schema, table);
    const openUsers = this.usersOfOpenSchema(catalog, schema, table);
    const withoutClosedUsers = (holders: Bitset) =>
      closedUsers === null ? holders : subtract(holders.slice(), closedUsers);
    const remainingByLetter = new Map(
      [...rights.remainingUsers].map(([letter, holders]) => [letter, withoutClosedUsers(holders)]),
    );
    const noUsers = this.union();
    const readers = openUsers === null ? remainingByLetter.get('S') : this.union(remainingByLetter.get('S'), openUsers);
    return {
      holders: (privilege) =>
        (privilege === 'SELECT' ? readers : remainingByLetter.get(LETTER_OF_PRIVILEGE[privilege])) ?? noUsers,
      userSets: rights,
    };
  }

  /** Users who are denied a table because it is a companion (`table$suffix`) of a restricted table; null: the table is not a companion. */
  private usersClosedOut(catalog: string, schema: string, table: string): Bitset | null {
    if (!table.includes('$')) return null;
    const nameParts = table.split('$');
    const baseNames = nameParts.slice(1).map((_, index) => nameParts.slice(0, index + 1).join('$'));
    const baseEntries = baseNames.map((base) => this.index.nodeAt(catalog, schema, base).entries);
    return this.restrictedReaders([...this.entriesByLevel(catalog, schema, ''), ...baseEntries]);
  }

  private restrictedReaders(entryLists: readonly (readonly BundleEntry[])[]): Bitset {
    return this.union(...entryLists.flat().flatMap((each) => (each.restrictsReading ? [each.users] : [])));
  }

  private usersOfOpenSchema(catalog: string, schema: string, table: string): Bitset | null {
    if (catalog !== 'system' || !OPEN_SYSTEM_SCHEMAS.includes(schema)) return null;
    return subtract(this.union(this.queryExecutors), this.rightsAt(catalog, schema, table).deniedUsers.get('S'));
  }

  private usersWithRights(catalog: string, schema: string): Bitset {
    if (fieldAt(this.data, 'closed', catalog) === true) return this.union();
    const rightsBelow = new Map<string, Bitset>();
    for (const { key, letters } of this.index.nodeAt(catalog, schema, '').rightsBelow)
      this.addUsers(rightsBelow, letters, this.index.membersOf(key));
    const { deniedUsers, maskedUsers, remainingUsers } = this.rightsAt(catalog, schema, '');
    const usersBelow = [...rightsBelow].map(([letter, each]) => subtractDenied(each, letter, deniedUsers, maskedUsers));
    return this.union(...remainingUsers.values(), ...usersBelow);
  }

  /** Those children of a catalog or schema whose rights must be evaluated one by one, each with the users to evaluate. */
  private childrenToEvaluate(catalog: string, schema: string): [string, Bitset][] {
    const usersByChild = new Map<string, Bitset>();
    for (const { key, children } of this.index.nodeAt(catalog, schema, '').rightsBelow)
      for (const child of children) {
        const users = getOrInsert(usersByChild, child, () => this.union());
        if (key === '') users.fill(-1);
        else addAll(users, this.index.membersOf(key));
      }
    return [...usersByChild];
  }

  private usersInSchema(catalog: string, schema: string): Bitset {
    return getOrInsert(this.usersByPath, JSON.stringify([catalog, schema]), () => {
      const childUsers = this.childrenToEvaluate(catalog, schema).map(([name, users]) => {
        const closedUsers = this.usersClosedOut(catalog, schema, name);
        const { remainingUsers } = this.rightsAt(catalog, schema, name);
        const holders = [...remainingUsers].flatMap(([letter, each]) =>
          letter === 'O' ? [] : ['FHP'.includes(letter) ? each : subtract(each.slice(), closedUsers)],
        );
        return intersection(users, this.union(...holders));
      });
      const isRuntime = catalog === 'system' && schema === 'runtime';
      return this.union(
        this.usersWithRights(catalog, schema),
        ...childUsers,
        isRuntime ? this.killQueryCallers() : null,
      );
    });
  }

  private usersInCatalog(catalog: string): Bitset {
    return getOrInsert(this.usersByPath, catalog, () => {
      const children = this.childrenToEvaluate(catalog, '');
      const usersBySchema = children.map(([name, users]) => intersection(users, this.usersInSchema(catalog, name)));
      const killQueryCallers = catalog === 'system' ? this.killQueryCallers() : null;
      return this.union(this.usersWithRights(catalog, ''), ...usersBySchema, killQueryCallers);
    });
  }
}

const LETTER_OF_PRIVILEGE: Readonly<Record<TablePrivilege, string>> = {
  ...{ SELECT: 'S', INSERT: 'I', DELETE: 'D', UPDATE: 'U', OWNERSHIP: 'T', GRANT_SELECT: 'G' },
};
const WRITE_LETTERS = 'IUD';
const OPEN_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];
const KILL_QUERY_KEY = '\tkill_query';

/** The keys of the nodes whose entries apply in a catalog: the catalog and everything (`''`); for `system` only the catalog. */
function topKeys(catalog: string): string[] {
  return catalog === 'system' ? [catalog] : ['', catalog];
}

/** Returns a test whether an entry has the right of this letter and is about one of these principals (`''`: the engine). */
function isRightOver(targetKeys: readonly string[], letter: string) {
  return (entry: { targetKey: string; letters: string }) =>
    targetKeys.includes(entry.targetKey) && entry.letters.includes(letter);
}

function intersection(a: Bitset, b: Bitset): Bitset {
  return a.map((word, index) => word & wordAt(b, index));
}

function subtract(set: Bitset, removedUsers: Bitset | null | undefined): Bitset {
  removeAll(set, removedUsers);
  return set;
}

function subtractDenied(holders: Bitset, letter: string, deniedUsers: UsersByLetter, maskedUsers: Bitset): Bitset {
  return subtract(subtract(holders, deniedUsers.get(letter)), WRITE_LETTERS.includes(letter) ? maskedUsers : null);
}

/** The access at a table with grants and without policies. It is the access at unnamed tables plus the privileges of these grants. */
class PolicyFreeTable implements TableAccess {
  readonly userSets: Restrictions;
  private readonly inheritedHolders: Readonly<Record<TablePrivilege, Bitset>>;
  private readonly tableHolders: Readonly<Record<TablePrivilege, Bitset>>;

  constructor(
    private readonly rights: NodeRights,
    unnamedTables: TableAccess,
  ) {
    this.userSets = rights;
    this.inheritedHolders = holdersByPrivilege(unnamedTables);
    this.tableHolders = holdersByPrivilege(unnamedTables);
  }

  withGrants(grants: NodeData['grants'], activeWords: Uint32Array): this {
    for (const [privilege, letter] of Object.entries(LETTER_OF_PRIVILEGE) as [TablePrivilege, string][]) {
      const holders = this.tableHolders[privilege];
      for (const index of activeWords) holders[index] = wordAt(this.inheritedHolders[privilege], index);
      const deniedUsers = this.rights.deniedUsers.get(letter);
      const maskedUsers = WRITE_LETTERS.includes(letter) ? this.rights.maskedUsers : undefined;
      for (const { letters, users } of grants) {
        const addedWordCount = letters.includes(letter) ? users.wordIndexes.length : 0;
        for (let i = 0; i < addedWordCount; i++) {
          const word = wordAt(users.wordIndexes, i);
          addWord(holders, word, wordAt(users.words, i) & ~((deniedUsers?.[word] ?? 0) | (maskedUsers?.[word] ?? 0)));
        }
      }
    }
    return this;
  }

  holders(privilege: TablePrivilege): Bitset {
    return this.tableHolders[privilege];
  }
}

function holdersByPrivilege(table: TableAccess): Record<TablePrivilege, Bitset> {
  const holders = TABLE_PRIVILEGES.map((privilege) => [
    privilege,
    table.holders(privilege, new Uint32Array(0)).slice(),
  ]);
  return Object.fromEntries(holders) as Record<TablePrivilege, Bitset>;
}

/** The filters, hidden columns and masks. The mask on the nearest node applies; two different masks on one node hide their column. */
function restrictionsOf(
  entriesByLevel: readonly (readonly BundleEntry[])[],
  storageColumns: readonly string[],
  wordCount: number,
): Restrictions {
  const newSet = (): Bitset => new Uint32Array(wordCount);
  const [filters, hiddenColumns] = [new Map<string, Bitset>(), new Map<string, Bitset>()];
  const masksByColumn = new Map<string, Map<string, Bitset>>();
  const restrictedUsers = newSet();
  for (const levelEntries of entriesByLevel) {
    const maskEntries = levelEntries.filter(({ kind }) => kind === 'm');
    for (const { column, users } of maskEntries)
      for (const usersMaskedAbove of masksByColumn.get(column)?.values() ?? []) removeAll(usersMaskedAbove, users);
    for (const { column, expression, users } of maskEntries) {
      const masksByText = getOrInsert(masksByColumn, column, () => new Map<string, Bitset>());
      addAll(getOrInsert(masksByText, expression, newSet), users);
    }
    for (const { kind, column, expression, users } of levelEntries) {
      if (kind === 'f') addAll(getOrInsert(filters, `(${expression})`, newSet), users);
      if (kind === 'h') addAll(getOrInsert(hiddenColumns, column, newSet), users);
      if (kind === 'h' || kind === 'm') addAll(restrictedUsers, users);
    }
  }
  for (const [column, masksByText] of masksByColumn) {
    const usersAlreadyMasked = newSet();
    for (const users of masksByText.values()) {
      addAll(getOrInsert(hiddenColumns, column, newSet), intersection(usersAlreadyMasked, users));
      addAll(usersAlreadyMasked, users);
    }
  }
  if (hiddenColumns.size > 0)
    for (const column of storageColumns) addAll(getOrInsert(hiddenColumns, column, newSet), restrictedUsers);
  for (const [column, masksByText] of masksByColumn)
    for (const users of masksByText.values()) removeAll(users, hiddenColumns.get(column));
  return { filters, hiddenColumns, masks: masksByColumn };
}
