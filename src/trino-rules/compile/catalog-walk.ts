import type { Node } from '../model/node.js';
import type { AccessState } from './access-state.js';
import { Bitset } from './bitset.js';
import type { AccessEntry, Change, NodeAccess } from './node-access.js';
import type { TreeNode } from './resource-tree.js';

/** Users by the catalog mode that they need, as disjoint sets. Users in neither set may not enter. */
export interface CatalogModes {
  all: Bitset;
  readOnly: Bitset;
}

/** Nodes where a restriction of data takes ownership, and users who lose it. */
export interface LostOwnership {
  nodes: ReadonlySet<Node>;
  positions: ReadonlySet<number>;
}

type Tree = TreeNode<AccessEntry>;
type Mode = ReturnType<AccessState['mode']>;

/** Walks each catalog once for everything that follows from the access at many nodes. */
export class CatalogWalk {
  /** Modes of a catalog without entries. */
  readonly otherModes: CatalogModes;
  readonly lost = { nodes: new Set<Node>(), positions: new Set<number>() };
  private readonly needed: readonly Mode[];
  private readonly restricted = new Map<Tree, Bitset>();
  private readonly nobody: Bitset;

  /** @param everything the access at the root */
  constructor(private readonly everything: NodeAccess) {
    this.needed = everything.states.map((state) => state.mode({ ownsSchema: true }));
    this.nobody = Bitset.none(this.needed.length);
    this.otherModes = modesOf(this.needed);
    this.noteLost({}, everything.changes, beginsToLose);
  }

  /** The modes that users need, from their access anywhere in the catalog. Access grows only at nodes with changes. */
  modes(catalog: Tree): CatalogModes {
    const access = this.everything.below(catalog.entries);
    const needed = this.needed.slice();
    for (const { position, to } of access.changes) needed[position] = to.mode({ ownsSchema: true });
    this.noteLost(catalog.resource, access.changes, beginsToLose);
    for (const schema of catalog.children.values()) this.walkSchema(schema, access, needed);
    return modesOf(needed);
  }

  /** Users to whom a restriction begins to apply on a table of the schema, whose catalog has been walked. */
  restrictedIn(schema: Tree): Bitset {
    return this.restricted.get(schema) ?? this.nobody;
  }

  private walkSchema(schema: Tree, above: NodeAccess, needed: Mode[]): void {
    const here = above.below(schema.entries);
    this.noteLost(schema.resource, here.changes, beginsToLose);
    const inTables: number[] = [];
    for (const { resource, entries } of schema.children.values()) {
      const { changes } = here.below(entries);
      for (const { position, to } of changes) noteMode(needed, position, to.mode({ ownsSchema: false }));
      const restricting = changes.filter(({ to }) => to.isRestricted);
      this.noteLost(schema.resource, restricting, ({ from }) => from.has('owner'));
      this.noteLost(resource, restricting, beginsToLose);
      for (const { position, from } of restricting) if (!from.isRestricted) inTables.push(position);
    }
    for (const { entries } of schema.routines.values())
      for (const { position, to } of here.below(entries).changes)
        noteMode(needed, position, to.mode({ ownsSchema: false }));
    if (inTables.length > 0) this.restricted.set(schema, Bitset.of(needed.length, inTables));
    const restricted = this.restrictedIn(schema);
    for (const { position, to } of here.changes)
      noteMode(needed, position, to.mode({ ownsSchema: !restricted.has(position) }));
  }

  private noteLost(node: Node, changes: readonly Change[], loses: (change: Change) => boolean): void {
    for (const change of changes) {
      if (!loses(change)) continue;
      this.lost.nodes.add(node);
      this.lost.positions.add(change.position);
    }
  }
}

function beginsToLose({ from, to }: Change): boolean {
  return to.isOwnershipLost && !from.isOwnershipLost;
}

function noteMode(needed: Mode[], position: number, mode: Mode): void {
  if (mode === 'all' || needed[position] === null) needed[position] = mode;
}

function modesOf(needed: readonly Mode[]): CatalogModes {
  const needing = (mode: Mode): Bitset => Bitset.where(needed.length, (position) => needed[position] === mode);
  return { all: needing('all'), readOnly: needing('read-only') };
}
