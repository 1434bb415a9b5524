import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { impersonationOf, type Impersonation, engineRights, type EngineRights } from './engine-rights.js';
import type { Bitset } from './bitset.js';
import { CatalogWalk, type UsersByMode, type LostOwnership, NodeAccess, type AccessEntry } from './node-access.js';
import {
  FILTERED_SYSTEM_SCHEMAS,
  hasEffect,
  isInMetadataCatalog,
  isKillQuery,
  ROUTINE_PRIVILEGES,
  SYSTEM,
  TABLE_PRIVILEGES,
} from './engine-terms.js';
import { indexPrincipals, type PrincipalIndex } from './principal-index.js';
import { depthOf, resourceTree, type TreeNode } from './resource-tree.js';

/** A node on which there are grants, policies or settings, or a node above such a node. */
export interface NamedNode {
  /** The last part of the node's path; empty for the root. */
  name: string;
  resource: Node;
  access: NodeAccess;
  children: () => Iterable<NamedNode>;
  routines: () => Iterable<NamedNode>;
  /** Users with a restriction on a table of this schema, but none on the schema or above. */
  usersRestrictedInTables: Bitset;
}

/** The access of all users as sets. For a single user, `intentAt` computes the same access. */
export interface IntentSets {
  principals: PrincipalIndex;
  /** Users who may execute queries: service accounts, and users with at least one right that statements use. */
  usersWithAccess: Bitset;
  engine: EngineRights;
  impersonation: Impersonation;
  /** The root. Its children are the named catalogs and `system`, and each call of `children` computes them anew. */
  root: NamedNode;
  hasRoutineGrants: boolean;
  usersByModeIn(catalog: string): UsersByMode;
  /** The users' modes (`all`, `read-only`) in every catalog that no grant or policy names. */
  defaultModes: UsersByMode;
  lostOwnership: LostOwnership;
}

export function intentSets(snapshot: Snapshot): IntentSets {
  const principals = indexPrincipals(snapshot);
  const engine = engineRights(snapshot, principals);
  const allEntries = accessEntries(snapshot, principals);
  const [entries, systemEntries] = [allEntries.filter((entry) => !isInSystem(entry)), allEntries.filter(isInSystem)];
  const routineDenyEntries = routineDenials(entries, principals);
  const settingEntries = catalogSettingEntries(snapshot, entries, principals);
  const tree = resourceTree([...entries, ...routineDenyEntries, ...settingEntries]);
  closeCompanions(tree, principals);
  const { readersMaintain } = snapshot.settings;
  const rootAccess = NodeAccess.withoutEntries(principals.subjects.length, readersMaintain).childWith(tree.entries);
  const catalogWalk = new CatalogWalk(rootAccess);
  const modesByCatalog = new Map([...tree.children].map(([name, node]) => [name, catalogWalk.usersByMode(node)]));
  const { defaultModes } = catalogWalk;
  const usersWithAccess = [defaultModes, ...modesByCatalog.values()].reduce(
    (users, mode) => users.or(mode.all).or(mode.readOnly),
    principals.serviceAccounts
      .or(engine.executors)
      .or(engine.killQueryCallers)
      .or(usersReading(systemEntries, principals)),
  );
  const allSystemEntries = [...systemEntries, ...openSchemaEntries(usersWithAccess)];
  // Grants and policies on the node *everything* do not apply in `system`.
  for (const [name, node] of resourceTree([closingEntry(SYSTEM, principals), ...allSystemEntries]).children)
    tree.children.set(name, node);
  // Users who may kill queries need access to `system` for the procedure `kill_query`, even if denies apply to the schemas of `system`.
  modesByCatalog.set(SYSTEM, {
    all: principals.emptySet,
    readOnly: usersReading(allSystemEntries, principals).or(engine.killQueryCallers),
  });

  return {
    principals,
    usersWithAccess,
    engine,
    impersonation: impersonationOf(snapshot, principals),
    root: namedNode(tree, rootAccess, catalogWalk),
    hasRoutineGrants: entries.some(givesRoutines),
    usersByModeIn: (catalog) => modesByCatalog.get(catalog) ?? defaultModes,
    defaultModes,
    lostOwnership: catalogWalk.lostOwnership,
  };
}

function namedNode(node: TreeNode<AccessEntry>, access: NodeAccess, catalogWalk: CatalogWalk): NamedNode {
  function* namedChildren(nodes: Iterable<TreeNode<AccessEntry>>): Generator<NamedNode> {
    for (const child of nodes) yield namedNode(child, access.childWith(child.entries), catalogWalk);
  }
  return {
    name: node.name,
    resource: node.resource,
    access,
    children: () => namedChildren(node.children.values()),
    routines: () => namedChildren(node.routines.values()),
    usersRestrictedInTables: catalogWalk.usersRestrictedIn(node),
  };
}

function isInSystem({ resource }: AccessEntry): boolean {
  return resource.catalog === SYSTEM;
}

function accessEntries(snapshot: Snapshot, principals: PrincipalIndex): AccessEntry[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
  const serviceEntries = (catalogs: readonly string[], privileges: readonly Privilege[]): AccessEntry[] =>
    catalogs
      .filter((catalog) => catalog !== SYSTEM)
      .map((catalog) => ({ kind: 'give', privileges, resource: { catalog }, members: principals.serviceAccounts }));
  const serviceAccountEntries = [
    ...serviceEntries(writableCatalogs, TABLE_PRIVILEGES),
    ...serviceEntries(readableCatalogs, READ_PRIVILEGE),
  ];
  const grants = snapshot.grants
    .filter((grant) => hasEffect(grant, snapshot.at))
    .map(
      ({ principal, resource, privileges }) =>
        ({ kind: 'give', privileges, resource, members: principals.resolvePrincipal(principal) }) as const,
    );
  const policies = snapshot.policies.map((policy): AccessEntry => {
    const commonFields = { resource: policy.resource, members: principals.resolvePolicy(policy) };
    switch (policy.kind) {
      case 'deny':
        return { ...commonFields, kind: 'take', privileges: policy.privileges };
      case 'row_filter':
        return { ...commonFields, kind: 'filter', expression: policy.expression };
      case 'hidden_column':
        return { ...commonFields, kind: 'hide', column: policy.resource.column };
      case 'column_mask': {
        const { expression, resource } = policy;
        return { ...commonFields, kind: 'mask', column: resource.column, expression, depth: depthOf(resource) };
      }
    }
  });
  const effectiveEntries = [...serviceAccountEntries, ...grants, ...policies].filter(
    ({ resource }: { resource: Node }) =>
      resource.engine === undefined &&
      resource.as === undefined &&
      resource.queries === undefined &&
      !isKillQuery(resource) &&
      !isInMetadataCatalog(resource, snapshot.settings),
  );
  return metadataCatalog === null ? effectiveEntries : [...effectiveEntries, closingEntry(metadataCatalog, principals)];
}

function closingEntry(catalog: string, { allSubjects }: PrincipalIndex): AccessEntry {
  return { kind: 'close', resource: { catalog }, members: allSubjects };
}

const READ_PRIVILEGE: readonly Privilege[] = ['SELECT'];

/** Denies routines to users with restricted data, because a routine that runs SQL at the source ignores restrictions. */
function routineDenials(entries: readonly AccessEntry[], { emptySet }: PrincipalIndex): AccessEntry[] {
  const routineGrants = entries.filter(givesRoutines);
  if (routineGrants.length === 0) return [];
  const usersByCatalog = new Map<string | undefined, Bitset>();
  for (const entry of entries.filter(restrictsData)) {
    const { catalog } = entry.resource;
    usersByCatalog.set(catalog, (usersByCatalog.get(catalog) ?? emptySet).or(entry.members));
  }
  return [...usersByCatalog].flatMap(([catalog, members]) => {
    const overlappingGrants = routineGrants.filter(
      ({ resource }) => [undefined, catalog].includes(resource.catalog) || catalog === undefined,
    );
    const holders = overlappingGrants.reduce((all, entry) => all.or(entry.members), emptySet).and(members);
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

/** Whether an entry restricts reading. Companions (`table$suffix`) and tables over the same files show the same data, so the entry affects these, too. */
function restrictsReading(entry: AccessEntry): boolean {
  return entry.kind === 'take' ? entry.privileges.includes('SELECT') : restrictsRowsOrColumns(entry);
}

/** Entries that follow from settings: `raw-columns` hides columns with whole stored rows; `disown` takes away ownership, because owners could make tables over restricted files. */
function catalogSettingEntries(
  { settings }: Snapshot,
  entries: readonly AccessEntry[],
  { emptySet, allSubjects }: PrincipalIndex,
): AccessEntry[] {
  const isOpenCatalog = (catalog: string): boolean => catalog !== SYSTEM && !isInMetadataCatalog({ catalog }, settings);
  const rawColumnEntries = settings.rawColumnCatalogs
    .filter(isOpenCatalog)
    .map((catalog): AccessEntry => ({ kind: 'raw-columns', resource: { catalog }, members: allSubjects }));
  const readingRestrictions = settings.externalTableCatalogs.length === 0 ? [] : entries.filter(restrictsReading);
  const ownershipEntries = settings.externalTableCatalogs.filter(isOpenCatalog).flatMap((catalog): AccessEntry[] => {
    const catalogRestrictions = readingRestrictions.filter(({ resource }) =>
      [undefined, catalog].includes(resource.catalog),
    );
    const members = catalogRestrictions.reduce((all, entry) => all.or(entry.members), emptySet);
    return members.isEmpty() ? [] : [{ kind: 'disown', resource: { catalog }, members }];
  });
  return [...rawColumnEntries, ...ownershipEntries];
}

/** Denies tables whose name makes them companions (`a$b`) to users with a restriction on the base table (`a`) or above. */
function closeCompanions(root: TreeNode<AccessEntry>, { emptySet }: PrincipalIndex): void {
  const restrictedUsers = ({ entries }: TreeNode<AccessEntry>): Bitset =>
    entries.filter(restrictsReading).reduce((all, { members }) => all.or(members), emptySet);
  for (const catalog of root.children.values()) {
    for (const schema of catalog.children.values()) {
      for (const { name, resource, entries } of schema.children.values()) {
        const nameParts = name.split('$');
        if (nameParts.length === 1) continue;
        const baseNodes = nameParts.flatMap((_, end) => schema.children.get(nameParts.slice(0, end).join('$')) ?? []);
        const restrictedNodes = [root, catalog, schema, ...baseNodes];
        const members = restrictedNodes.reduce((all, node) => all.or(restrictedUsers(node)), emptySet);
        if (!members.isEmpty()) entries.push({ kind: 'close-companion', resource, members });
      }
    }
  }
}

/** Lets all users with any access read those schemas of `system` that the engine filters for each user. */
function openSchemaEntries(members: Bitset): AccessEntry[] {
  return FILTERED_SYSTEM_SCHEMAS.map((schema) => ({
    kind: 'give',
    privileges: READ_PRIVILEGE,
    resource: { catalog: SYSTEM, schema },
    members,
  }));
}

/** Users who may read anything in `system` by these grants and policies. Reading is the only access to data in `system`. */
function usersReading(entries: readonly AccessEntry[], { subjects, emptySet }: PrincipalIndex): Bitset {
  const systemTree = resourceTree(entries).children.get(SYSTEM);
  return systemTree === undefined
    ? emptySet
    : new CatalogWalk(NodeAccess.withoutEntries(subjects.length, true)).usersByMode(systemTree).readOnly;
}
