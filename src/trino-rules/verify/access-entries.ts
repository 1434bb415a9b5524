import { getOrInsert } from '../../kernel/collections.js';
import { OPEN_SYSTEM_SCHEMAS } from '../model/resource.js';
import { SERVICE_ACCOUNT_PRIVILEGES } from '../model/intent.js';
import { isInTree, namesOf, SYSTEM, type Node } from '../model/node.js';
import { isOverData, privilegesOn, type Privilege } from '../model/privilege.js';
import { isAroundCatalogOf, restrictsReading, sharesFiles, storageColumns } from '../model/restrictions.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { EntrySource } from './interned-access.js';
import type { PrincipalIndex } from './principal-index.js';

/** A grant or a policy on a node, and the positions of its members. */
export interface AccessEntry {
  source: EntrySource;
  members: readonly number[];
}

/** A node with entries, or an ancestor of one. */
export interface EntryNode {
  entries: AccessEntry[];
  children: Map<string, EntryNode>;
}

/** The nodes of all data; those of the catalog `system`, which nothing said on everything touches, stand for themselves. */
export interface EntryNodes {
  root: EntryNode;
  system: EntryNode;
}

/**
 * The entries about data of a snapshot at their nodes, from the root down, with those that the settings give to service accounts.
 * Entries in the metadata catalog are dropped.
 */
export function entriesByNode(snapshot: Snapshot, principals: PrincipalIndex): EntryNodes {
  const { grants, policies, settings, at } = snapshot;
  const root = emptyNode();
  const above = emptyNode();
  const add = (resource: Node, entry: AccessEntry): void => {
    if (resource.catalog === settings.metadataCatalog || !isInTree(resource)) return;
    nodeAt(resource.catalog === SYSTEM ? above : root, resource).entries.push(entry);
  };
  const giving = sharedGivings();
  const served = (catalogs: readonly string[]) => catalogs.filter((catalog) => catalog !== SYSTEM);
  for (const catalog of served(settings.writableCatalogs))
    add({ catalog }, { source: giving(SERVICE_ACCOUNT_PRIVILEGES), members: principals.serviceAccounts });
  for (const catalog of served(settings.readableCatalogs))
    add({ catalog }, { source: giving(['SELECT']), members: principals.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    const open = grant.resource.catalog === SYSTEM ? privilegesOn(grant.resource) : grant.privileges;
    const privileges = grant.privileges.filter((each) => isOverData(each) && open.includes(each));
    if (privileges.length === 0) continue;
    add(grant.resource, { source: giving(privileges), members: principals.resolvePrincipal(grant.principal) });
  }
  for (const policy of policies)
    add(policy.resource, { source: { policy }, members: principals.resolvePolicy(policy) });
  for (const catalog of new Set([...settings.externalTableCatalogs, ...settings.rawColumnCatalogs]))
    for (const entry of catalogTerms(snapshot, principals, catalog)) add({ catalog }, entry);
  return { root, system: above.children.get(SYSTEM) ?? emptyNode() };
}

/** What the settings say of a catalog; of ownership for those whose reading is restricted there. */
function catalogTerms({ policies, settings }: Snapshot, principals: PrincipalIndex, catalog: string): AccessEntry[] {
  const storage = storageColumns({ catalog }, settings);
  const around = sharesFiles({ catalog }, settings)
    ? policies.filter((policy) => restrictsReading(policy) && isAroundCatalogOf({ catalog }, policy))
    : [];
  const restricted = new Set(around.flatMap((policy) => principals.resolvePolicy(policy)));
  return [
    { source: { terms: { storage, ownership: [] } }, members: [...principals.subjects.keys()] },
    { source: { terms: { storage, ownership: around } }, members: [...restricted] },
  ];
}

/** Follows from all other entries: users with access to anything read the open schemas of `system`, less what is denied. */
export function withOpenSchemas(system: EntryNode, reaching: readonly number[]): EntryNode {
  const children = new Map(system.children);
  for (const schema of OPEN_SYSTEM_SCHEMAS) {
    const { entries, ...said } = children.get(schema) ?? emptyNode();
    children.set(schema, { ...said, entries: [...entries, { source: { gives: ['SELECT'] }, members: reaching }] });
  }
  return { ...system, children };
}

/** Equal privileges as one source, so that users who have them by different grants share an interned access. */
function sharedGivings(): (privileges: readonly Privilege[]) => EntrySource {
  const shared = new Map<string, EntrySource>();
  return (privileges) => getOrInsert(shared, privileges.join(), () => ({ gives: privileges }));
}

function nodeAt(root: EntryNode, resource: Node): EntryNode {
  return namesOf(resource).reduce((node, name) => getOrInsert(node.children, name, emptyNode), root);
}

function emptyNode(): EntryNode {
  return { entries: [], children: new Map() };
}
