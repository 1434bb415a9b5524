import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { acting, type Acting } from './acting-rules.js';
import type { Bitset } from './bitset.js';
import { CatalogWalk, type CatalogModes, type LostOwnership } from './catalog-walk.js';
import { engineRights, type EngineRights } from './engine-rights.js';
import {
  FILTERED_SYSTEM_SCHEMAS,
  hasEffect,
  isClosed,
  isKillQuery,
  ROUTINE_PRIVILEGES,
  SYSTEM,
  TABLE_PRIVILEGES,
} from './engine-terms.js';
import { NodeAccess, type AccessEntry } from './node-access.js';
import { indexPrincipals, type PrincipalIndex } from './principal-index.js';
import { depthOf, resourceTree, type TreeNode } from './resource-tree.js';

/** A node with entries, or an ancestor of one, with the named nodes below it, sorted by name. */
export interface NamedNode {
  /** Last name on its path; empty for the root. */
  name: string;
  resource: Node;
  access: NodeAccess;
  children: () => Iterable<NamedNode>;
  routines: () => Iterable<NamedNode>;
  /** Users to whom a restriction begins to apply on a table of this schema. */
  restrictedBelow: Bitset;
}

/** The intent for all users as sets, with the same answers as `intentAt`. */
export interface IntentSets {
  principals: PrincipalIndex;
  /** Service accounts, and all users with access that statements use. */
  reachesSomething: Bitset;
  engine: EngineRights;
  acting: Acting;
  /** The parent of all named catalogs, including `system`. Nodes below are computed during a walk, and not kept. */
  root: NamedNode;
  /** Whether any grant is about functions and procedures. */
  hasRoutines: boolean;
  catalogModes(catalog: string): CatalogModes;
  /** Modes of a catalog without entries. */
  otherModes: CatalogModes;
  lostOwnership: LostOwnership;
}

/** Computes the access of all users at all nodes. */
export function intentSets(snapshot: Snapshot): IntentSets {
  const principals = indexPrincipals(snapshot);
  const engine = engineRights(snapshot, principals);
  const all = accessEntries(snapshot, principals);
  const [entries, inSystem] = [all.filter((entry) => !isInSystem(entry)), all.filter(isInSystem)];
  const outweighed = outweighedRoutines(entries, principals);
  const terms = catalogTerms(snapshot, entries, principals);
  const tree = resourceTree([...entries, ...outweighed, ...terms]);
  closeCompanions(tree, principals);
  const { readersMaintain } = snapshot.settings;
  const everything = NodeAccess.ofNobody(principals.subjects.length, readersMaintain).below(tree.entries);
  const catalogs = new CatalogWalk(everything);
  const modes = new Map([...tree.children].map(([name, node]) => [name, catalogs.modes(node)]));
  const { otherModes } = catalogs;
  const reachesSomething = [otherModes, ...modes.values()].reduce(
    (some, mode) => some.or(mode.all).or(mode.readOnly),
    principals.serviceAccounts.or(engine.execute).or(engine.callKill).or(readersOf(inSystem, principals)),
  );
  const system = [...inSystem, ...openSchemas(reachesSomething)];
  // Entries on everything do not reach `system`.
  for (const [name, node] of resourceTree([closing(SYSTEM, principals), ...system]).children)
    tree.children.set(name, node);
  // Killing needs a procedure of `system`, independent of denies in its schemas.
  modes.set(SYSTEM, { all: principals.none, readOnly: readersOf(system, principals).or(engine.callKill) });

  return {
    principals,
    reachesSomething,
    engine,
    acting: acting(snapshot, principals),
    root: named(tree, everything, catalogs),
    hasRoutines: entries.some(givesRoutines),
    catalogModes: (catalog) => modes.get(catalog) ?? otherModes,
    otherModes,
    lostOwnership: catalogs.lost,
  };
}

function named(node: TreeNode<AccessEntry>, access: NodeAccess, catalogs: CatalogWalk): NamedNode {
  function* walk(nodes: Iterable<TreeNode<AccessEntry>>): Generator<NamedNode> {
    for (const below of nodes) yield named(below, access.below(below.entries), catalogs);
  }
  return {
    name: node.name,
    resource: node.resource,
    access,
    children: () => walk(node.children.values()),
    routines: () => walk(node.routines.values()),
    restrictedBelow: catalogs.restrictedIn(node),
  };
}

function isInSystem({ resource }: AccessEntry): boolean {
  return resource.catalog === SYSTEM;
}

/** The snapshot's entries, settings first. Entries do not reach the metadata catalog. */
function accessEntries(snapshot: Snapshot, principals: PrincipalIndex): AccessEntry[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
  const served = (catalogs: readonly string[], privileges: readonly Privilege[]): AccessEntry[] =>
    catalogs
      .filter((catalog) => catalog !== SYSTEM)
      .map((catalog) => ({ kind: 'give', privileges, resource: { catalog }, members: principals.serviceAccounts }));
  const accounts = [...served(writableCatalogs, TABLE_PRIVILEGES), ...served(readableCatalogs, READ)];
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
      case 'column_mask': {
        const { expression, resource } = policy;
        return { ...of, kind: 'mask', column: resource.column, expression, depth: depthOf(resource) };
      }
    }
  });
  const open = [...accounts, ...grants, ...policies].filter(
    ({ resource }: { resource: Node }) =>
      resource.engine === undefined &&
      resource.as === undefined &&
      resource.queries === undefined &&
      !isKillQuery(resource) &&
      !isClosed(resource, snapshot.settings),
  );
  return metadataCatalog === null ? open : [...open, closing(metadataCatalog, principals)];
}

/** The entry that keeps entries on everything from applying in this catalog. */
function closing(catalog: string, { everybody }: PrincipalIndex): AccessEntry {
  return { kind: 'close', resource: { catalog }, members: everybody };
}

const READ: readonly Privilege[] = ['SELECT'];

/**
 * Denies all routines, on catalogs or on everything, to users with any restriction of data there or below, because a pass-through
 * routine reads past every filter, mask and missing grant.
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
  if (entry.kind === 'take') return entry.privileges.some((privilege) => !ROUTINE_PRIVILEGES.includes(privilege));
  return restrictsRowsOrColumns(entry);
}

function restrictsRowsOrColumns({ kind }: AccessEntry): boolean {
  return kind === 'filter' || kind === 'hide' || kind === 'mask';
}

/** Whether an entry restricts reading, so that companions and shared files are closed. */
function restrictsReading(entry: AccessEntry): boolean {
  return entry.kind === 'take' ? entry.privileges.includes('SELECT') : restrictsRowsOrColumns(entry);
}

/** Entries by settings of catalogs: raw columns, and loss of ownership where tables can share files. */
function catalogTerms(
  { settings }: Snapshot,
  entries: readonly AccessEntry[],
  { none, everybody }: PrincipalIndex,
): AccessEntry[] {
  const open = (catalog: string): boolean => catalog !== SYSTEM && !isClosed({ catalog }, settings);
  const raw = settings.rawColumnCatalogs
    .filter(open)
    .map((catalog): AccessEntry => ({ kind: 'raw-columns', resource: { catalog }, members: everybody }));
  const reading = settings.externalTableCatalogs.length === 0 ? [] : entries.filter(restrictsReading);
  const disowned = settings.externalTableCatalogs.filter(open).flatMap((catalog): AccessEntry[] => {
    const around = reading.filter(({ resource }) => [undefined, catalog].includes(resource.catalog));
    const members = around.reduce((all, entry) => all.or(entry.members), none);
    return members.isEmpty() ? [] : [{ kind: 'disown', resource: { catalog }, members }];
  });
  return [...raw, ...disowned];
}

/** Closes named tables that are companions, for users to whom the base table or a node above it is restricted. */
function closeCompanions(root: TreeNode<AccessEntry>, { none }: PrincipalIndex): void {
  const restricted = ({ entries }: TreeNode<AccessEntry>): Bitset =>
    entries.filter(restrictsReading).reduce((all, { members }) => all.or(members), none);
  for (const catalog of root.children.values()) {
    for (const schema of catalog.children.values()) {
      for (const { name, resource, entries } of schema.children.values()) {
        const parts = name.split('$');
        if (parts.length === 1) continue;
        const bases = parts.flatMap((_, last) => schema.children.get(parts.slice(0, last).join('$')) ?? []);
        const members = [root, catalog, schema, ...bases].reduce((all, node) => all.or(restricted(node)), none);
        if (!members.isEmpty()) entries.push({ kind: 'close-companion', resource, members });
      }
    }
  }
}

/** Schemas of `system` that all users with access read. */
function openSchemas(members: Bitset): AccessEntry[] {
  return FILTERED_SYSTEM_SCHEMAS.map((schema) => ({
    kind: 'give',
    privileges: READ,
    resource: { catalog: SYSTEM, schema },
    members,
  }));
}

/** Users to whom these entries leave access in `system`, which can only be reading. */
function readersOf(entries: readonly AccessEntry[], { subjects, none }: PrincipalIndex): Bitset {
  const system = resourceTree(entries).children.get(SYSTEM);
  return system === undefined
    ? none
    : new CatalogWalk(NodeAccess.ofNobody(subjects.length, true)).modes(system).readOnly;
}
