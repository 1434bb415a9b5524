import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { Bitset } from './bitset.js';
import { engineRights, type EngineRights } from './engine-rights.js';
import { FILTERED_SYSTEM_SCHEMAS, hasEffect, ROUTINE_PRIVILEGES, TABLE_PRIVILEGES } from './engine-terms.js';
import { NodeAccess, type AccessEntry } from './node-access.js';
import { indexPrincipals, type PrincipalIndex } from './principal-index.js';
import { depthOf, resourceTree, type TreeNode } from './resource-tree.js';

/** A node that something in the snapshot names (or that lies above one), with the named nodes below it, sorted by name. */
export interface NamedNode {
  /** Its last name; empty for the root. */
  name: string;
  resource: Node;
  access: NodeAccess;
  children: () => Iterable<NamedNode>;
  /** Of a schema: its functions and procedures. */
  routines: () => Iterable<NamedNode>;
}

/** The intent for all users at once: the same answers as `intentAt`, as sets. */
export interface IntentSets {
  principals: PrincipalIndex;
  /** Service accounts, and every principal with any access that statements use. */
  reachesSomething: Bitset;
  engine: EngineRights;
  /** Above every named catalog, `system` among them; the nodes below are computed while they are walked, and not kept. */
  root: NamedNode;
  /** Whether any grant is about functions and procedures. */
  hasRoutines: boolean;
  /** Users by the mode that they need: disjoint sets. Users in neither may not enter the catalog. */
  catalogModes(catalog: string): { all: Bitset; readOnly: Bitset };
}

/** Computes the access of all users at all nodes. */
export function intentSets(snapshot: Snapshot): IntentSets {
  const principals = indexPrincipals(snapshot);
  const engine = engineRights(snapshot, principals);
  const entries = accessEntries(snapshot, principals);
  const outweighed = outweighedRoutines(entries, principals);
  const tree = resourceTree([...entries, ...outweighed]);
  const root = named(tree, NodeAccess.ofNobody(principals.subjects.length));
  const modes = new Map([...tree.children].map(([name, node]) => [name, modesIn(node, root.access, principals)]));
  const reachesSomething = [...modes.values()].reduce(
    (all, mode) => all.or(mode.all).or(mode.readOnly),
    principals.serviceAccounts.or(engine.kill),
  );
  addSystem(tree, reachesSomething);
  modes.set('system', { all: principals.none, readOnly: reachesSomething });

  return {
    principals,
    reachesSomething,
    engine,
    root,
    hasRoutines: entries.some(givesRoutines),
    catalogModes: (catalog) => modes.get(catalog) ?? { all: principals.none, readOnly: principals.none },
  };
}

function named({ name, resource, entries, ...below }: TreeNode<AccessEntry>, above: NodeAccess): NamedNode {
  const access = above.below(entries);
  return {
    ...{ name, resource, access },
    children: () => walk(below.children.values(), access),
    routines: () => walk(below.routines.values(), access),
  };
}

function* walk(nodes: Iterable<TreeNode<AccessEntry>>, above: NodeAccess): Generator<NamedNode> {
  for (const node of nodes) yield named(node, above);
}

/** The snapshot's entries, settings first; entries in the two closed catalogs are dropped. */
function accessEntries(snapshot: Snapshot, principals: PrincipalIndex): AccessEntry[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
  const members = principals.serviceAccounts;
  const writable = writableCatalogs.map(
    (catalog) => ({ kind: 'give', privileges: TABLE_PRIVILEGES, resource: { catalog }, members }) as const,
  );
  const readable = readableCatalogs.map(
    (catalog) => ({ kind: 'give', privileges: READ, resource: { catalog }, members }) as const,
  );
  const grants = snapshot.grants
    .filter((grant) => hasEffect(grant, snapshot.at))
    .map(
      ({ principal, resource, privileges }) =>
        ({ kind: 'give', privileges, resource, members: principals.resolvePrincipal(principal) }) as const,
    );
  const policies = snapshot.policies.map((policy): AccessEntry => {
    const of = { resource: policy.resource, members: principals.resolvePolicy(policy) };
    switch (policy.kind) {
      case 'deny':
        return { ...of, kind: 'take', privileges: policy.privileges };
      case 'row_filter':
        return { ...of, kind: 'filter', expression: policy.expression };
      case 'hidden_column':
        return { ...of, kind: 'hide', column: policy.resource.column };
      case 'column_mask':
        return {
          ...of,
          kind: 'mask',
          column: policy.resource.column,
          expression: policy.expression,
          depth: depthOf(policy.resource),
        };
    }
  });
  const isOfData = ({ resource: { catalog, engine } }: { resource: Node }): boolean =>
    engine === undefined && catalog !== metadataCatalog && catalog !== 'system';
  return [...writable, ...readable, ...grants, ...policies].filter(isOfData);
}

const READ: readonly Privilege[] = ['SELECT'];

/**
 * A pass-through routine reads past every filter, mask and missing grant: whoever a restriction of data reaches on everything, on a
 * catalog or anywhere below it, bites it or not, runs nothing there. As denies, on the catalog or on everything.
 */
function outweighedRoutines(entries: readonly AccessEntry[], { none }: PrincipalIndex): AccessEntry[] {
  const given = entries.filter(givesRoutines);
  if (given.length === 0) return [];
  const restricted = new Map<string | undefined, Bitset>();
  for (const entry of entries.filter(restrictsData)) {
    const { catalog } = entry.resource;
    restricted.set(catalog, (restricted.get(catalog) ?? none).or(entry.members));
  }
  return [...restricted].flatMap(([catalog, members]) => {
    const about = given.filter(
      ({ resource }) => [undefined, catalog].includes(resource.catalog) || catalog === undefined,
    );
    const holders = about.reduce((all, entry) => all.or(entry.members), none).and(members);
    const resource = catalog === undefined ? {} : { catalog };
    return holders.isEmpty() ? [] : [{ kind: 'take', resource, privileges: ROUTINE_PRIVILEGES, members: holders }];
  });
}

function givesRoutines(entry: AccessEntry): boolean {
  return entry.kind === 'give' && entry.privileges.some((privilege) => ROUTINE_PRIVILEGES.includes(privilege));
}

function restrictsData(entry: AccessEntry): boolean {
  if (entry.kind === 'give') return false;
  return entry.kind !== 'take' || entry.privileges.some((privilege) => !ROUTINE_PRIVILEGES.includes(privilege));
}

/** Users by the catalog mode that they need, from their access anywhere below. Access grows only at nodes with changes. */
function modesIn(
  catalog: TreeNode<AccessEntry>,
  start: NodeAccess,
  { subjects: { length: count } }: PrincipalIndex,
): { all: Bitset; readOnly: Bitset } {
  const needed = new Array<'all' | 'read-only' | null>(count).fill(null);
  note([catalog], start);
  const needing = (mode: 'all' | 'read-only'): Bitset => Bitset.where(count, (position) => needed[position] === mode);
  return { all: needing('all'), readOnly: needing('read-only') };

  /** @returns those to whom a restriction begins to apply on one of the nodes */
  function note(nodes: Iterable<TreeNode<AccessEntry>>, above: NodeAccess): Set<number> {
    const restricted = new Set<number>();
    for (const { resource, entries, children, routines } of nodes) {
      const access = above.below(entries);
      const inTables = note(children.values(), access);
      note(routines.values(), access);
      const level = depthOf(resource);
      for (const { position, to } of access.changes) {
        const mode = to.mode({ ownsSchema: level === 1 || (level === 2 && !inTables.has(position)) });
        if (mode === 'all' || needed[position] === null) needed[position] = mode;
      }
      for (const position of newlyRestricted(access)) restricted.add(position);
    }
    return restricted;
  }
}

/** Those to whom a filter, a mask, a hidden column or a deny applies at a node and not above it. */
export function newlyRestricted({ changes }: NodeAccess): number[] {
  return changes.flatMap(({ position, from, to }) => (to.isRestricted && !from.isRestricted ? [position] : []));
}

function addSystem(tree: TreeNode<AccessEntry>, members: Bitset): void {
  const open = FILTERED_SYSTEM_SCHEMAS.map((schema): AccessEntry => ({
    kind: 'give',
    privileges: READ,
    resource: { catalog: 'system', schema },
    members,
  }));
  for (const [name, node] of resourceTree(open).children) tree.children.set(name, node);
}
