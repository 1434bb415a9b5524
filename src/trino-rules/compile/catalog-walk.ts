import type { Node } from '../model/node.js';
import type { AccessState } from './access-state.js';
import { Bitset } from './bitset.js';
import type { AccessEntry, StateChange, NodeAccess } from './node-access.js';
import type { TreeNode } from './resource-tree.js';

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
    Bitset.fromPredicate(neededModes.length, (position) => neededModes[position] === mode);
  return { all: usersWithMode('all'), readOnly: usersWithMode('read-only') };
}
