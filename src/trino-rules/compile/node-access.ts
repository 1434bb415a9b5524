import type { Node } from '../model/node.js';
import { AccessState, type EntryEffect, type RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import type { TreeNode } from './resource-tree.js';

export type AccessEntry = EntryEffect & { resource: Node; members: Bitset };

interface StateChange {
  position: number;
  parentState: AccessState;
  nodeState: AccessState;
}

/** The access of all users at a node, kept as changes from the access at the parent. */
export class NodeAccess {
  private cachedStates: readonly AccessState[] | null = null;
  private cachedUsers: NodeUsers | null = null;

  private constructor(
    /** The nearest node above that changes the access of at least one user, or the root; null for the root itself. */
    private readonly ancestor: NodeAccess | null,
    readonly changes: readonly StateChange[],
  ) {}

  /** The access of `count` users at a root without grants and policies. @param isOpenToReaders whether users who only read may run table procedures */
  static withoutEntries(count: number, isOpenToReaders: boolean): NodeAccess {
    const root = new NodeAccess(null, []);
    root.cachedStates = new Array<AccessState>(count).fill(AccessState.empty(isOpenToReaders));
    return root;
  }

  childWith(entries: readonly AccessEntry[]): NodeAccess {
    const changes = entries.length === 0 ? [] : changesByEntries(this.states, entries);
    return new NodeAccess(this.changes.length === 0 ? (this.ancestor ?? this) : this, changes);
  }

  get states(): readonly AccessState[] {
    return (this.cachedStates ??= applyChanges(this.ancestor?.states ?? [], this.changes));
  }

  get users(): NodeUsers {
    const unchangedAncestor = this.changes.length === 0 ? this.ancestor : null;
    return (this.cachedUsers ??= unchangedAncestor?.users ?? nodeUsersOf(this.states));
  }
}

interface NodeUsers {
  usersByEffect: ReadonlyMap<RuleEffect, Bitset>;
  usersWithAccess: Bitset;
  /** Users with any privilege at this node, but without access to companions of tables (`table$suffix`). */
  usersWithClosedCompanions: Bitset;
}

function applyChanges(parentStates: readonly AccessState[], changes: readonly StateChange[]): readonly AccessState[] {
  if (changes.length === 0) return parentStates;
  const states = parentStates.slice();
  for (const { position, nodeState } of changes) states[position] = nodeState;
  return states;
}

function changesByEntries(parentStates: readonly AccessState[], entries: readonly AccessEntry[]): StateChange[] {
  const changes = new Map<number, StateChange>();
  for (const entry of entries) {
    const nextStates = new Map<AccessState, AccessState>();
    entry.members.forEach((position) => {
      const earlierChange = changes.get(position);
      const oldState = earlierChange?.nodeState ?? parentStates[position];
      if (oldState === undefined) return;
      const nodeState = getOrInsert(nextStates, oldState, () => oldState.withEntry(entry));
      if (earlierChange) earlierChange.nodeState = nodeState;
      else changes.set(position, { position, parentState: oldState, nodeState });
    });
  }
  return [...changes.values()].filter(({ parentState, nodeState }) => parentState !== nodeState);
}

function nodeUsersOf(states: readonly AccessState[]): NodeUsers {
  const positions = new Map<RuleEffect, number[]>();
  for (let position = 0; position < states.length; position++) {
    const effect = states[position]?.effect;
    if (effect === undefined) continue;
    getOrInsert(positions, effect, () => []).push(position);
  }
  const usersByEffect = new Map([...positions].map(([effect, users]) => [effect, Bitset.of(states.length, users)]));
  const userSets = [...usersByEffect].flatMap(([{ privileges }, users]) => (privileges.length > 0 ? [users] : []));
  const usersWithAccess = userSets.reduce((all, users) => all.or(users), Bitset.of(states.length, []));
  const closedPositions = usersWithAccess.members().filter((position) => states[position]?.closesCompanions === true);
  const usersWithClosedCompanions = Bitset.of(states.length, closedPositions);
  return { usersByEffect, usersWithAccess, usersWithClosedCompanions };
}

/** Users by the access to a catalog (`all`, `read-only`) that they need. The sets are disjoint. Users in neither set get no access. */
export interface UsersByMode {
  all: Bitset;
  readOnly: Bitset;
}

export interface LostOwnership {
  nodes: ReadonlySet<Node>;
  userPositions: ReadonlySet<number>;
}

type EntryTree = TreeNode<AccessEntry>;
type Mode = ReturnType<AccessState['neededMode']>;

/** Visits the nodes of each catalog once. Finds which mode (`all`, `read-only`) each user needs for a catalog, who loses ownership, and whose access to tables is restricted. */
export class CatalogWalk {
  /** Users by the mode (`all`, `read-only`) that they need in a catalog that no grant or policy names. */
  readonly defaultModes: UsersByMode;
  readonly lostOwnership = { nodes: new Set<Node>(), userPositions: new Set<number>() };
  private readonly rootModes: readonly Mode[];
  private readonly restrictedBySchema = new Map<EntryTree, Bitset>();
  private readonly noUsers: Bitset;

  constructor(private readonly rootAccess: NodeAccess) {
    this.rootModes = rootAccess.states.map((state) => state.neededMode({ ownsSchema: true }));
    this.noUsers = Bitset.of(this.rootModes.length, []);
    this.defaultModes = usersByNeededMode(this.rootModes);
    this.recordLostOwnership({}, rootAccess.changes, startsLosingOwnership);
  }

  usersByMode(catalogTree: EntryTree): UsersByMode {
    const access = this.rootAccess.childWith(catalogTree.entries);
    const neededModes = this.rootModes.slice();
    for (const { position, nodeState } of access.changes)
      neededModes[position] = nodeState.neededMode({ ownsSchema: true });
    this.recordLostOwnership(catalogTree.resource, access.changes, startsLosingOwnership);
    for (const schema of catalogTree.children.values()) this.walkSchema(schema, access, neededModes);
    return usersByNeededMode(neededModes);
  }

  /** Users who are restricted on a table of the schema, but not on the schema or above. Must be called after `usersByMode` for the catalog. */
  usersRestrictedIn(schemaTree: EntryTree): Bitset {
    return this.restrictedBySchema.get(schemaTree) ?? this.noUsers;
  }

  private walkSchema(schemaTree: EntryTree, parentAccess: NodeAccess, neededModes: Mode[]): void {
    const schemaAccess = parentAccess.childWith(schemaTree.entries);
    this.recordLostOwnership(schemaTree.resource, schemaAccess.changes, startsLosingOwnership);
    const restrictedPositions: number[] = [];
    for (const { resource, entries } of schemaTree.children.values()) {
      const { changes } = schemaAccess.childWith(entries);
      for (const { position, nodeState } of changes)
        widenMode(neededModes, position, nodeState.neededMode({ ownsSchema: false }));
      const restrictingChanges = changes.filter(({ nodeState }) => nodeState.isRestricted);
      this.recordLostOwnership(schemaTree.resource, restrictingChanges, ({ parentState }) => parentState.has('owner'));
      this.recordLostOwnership(resource, restrictingChanges, startsLosingOwnership);
      for (const { position, parentState } of restrictingChanges)
        if (!parentState.isRestricted) restrictedPositions.push(position);
    }
    for (const { entries } of schemaTree.routines.values())
      for (const { position, nodeState } of schemaAccess.childWith(entries).changes)
        widenMode(neededModes, position, nodeState.neededMode({ ownsSchema: false }));
    if (restrictedPositions.length > 0)
      this.restrictedBySchema.set(schemaTree, Bitset.of(neededModes.length, restrictedPositions));
    const restrictedUsers = this.usersRestrictedIn(schemaTree);
    for (const { position, nodeState } of schemaAccess.changes)
      widenMode(neededModes, position, nodeState.neededMode({ ownsSchema: !restrictedUsers.has(position) }));
  }

  private recordLostOwnership(node: Node, changes: readonly StateChange[], isLoss: typeof startsLosingOwnership): void {
    for (const change of changes) {
      if (!isLoss(change)) continue;
      this.lostOwnership.nodes.add(node);
      this.lostOwnership.userPositions.add(change.position);
    }
  }
}

function startsLosingOwnership({ parentState, nodeState }: StateChange): boolean {
  return nodeState.isOwnershipLost && !parentState.isOwnershipLost;
}

function widenMode(neededModes: Mode[], position: number, mode: Mode): void {
  if (mode === 'all' || neededModes[position] === null) neededModes[position] = mode;
}

function usersByNeededMode(neededModes: readonly Mode[]): UsersByMode {
  const usersWithMode = (mode: Mode): Bitset =>
    Bitset.of(
      neededModes.length,
      [...neededModes.keys()].filter((position) => neededModes[position] === mode),
    );
  return { all: usersWithMode('all'), readOnly: usersWithMode('read-only') };
}
