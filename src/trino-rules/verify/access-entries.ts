import { getOrInsert } from '../../kernel/get-or-insert.js';
import { OPEN_SYSTEM_SCHEMAS, SERVICE_ACCOUNT_PRIVILEGES } from '../model/intent.js';
import { isInTree, namesOf, type Node } from '../model/node.js';
import { isOverData, type Privilege } from '../model/privilege.js';
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

/**
 * The entries about data of a snapshot at their nodes, from the root down, with those that the settings give to service accounts.
 * Entries in the metadata catalog and in `system` are dropped.
 */
export function entriesByNode(snapshot: Snapshot, principals: PrincipalIndex): EntryNode {
  const { grants, policies, settings, at } = snapshot;
  const root = emptyNode();
  const add = (resource: Node, entry: AccessEntry): void => {
    if (resource.catalog === settings.metadataCatalog || resource.catalog === 'system' || !isInTree(resource)) return;
    nodeAt(root, resource).entries.push(entry);
  };
  const giving = sharedGivings();
  for (const catalog of settings.writableCatalogs)
    add({ catalog }, { source: giving(SERVICE_ACCOUNT_PRIVILEGES), members: principals.serviceAccounts });
  for (const catalog of settings.readableCatalogs)
    add({ catalog }, { source: giving(['SELECT']), members: principals.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    const privileges = grant.privileges.filter(isOverData);
    if (privileges.length === 0) continue;
    add(grant.resource, { source: giving(privileges), members: principals.resolvePrincipal(grant.principal) });
  }
  for (const policy of policies)
    add(policy.resource, { source: { policy }, members: principals.resolvePolicy(policy) });
  return root;
}

/** Follows from all other entries: users with access to anything read the open schemas of `system`. */
export function systemEntries(reaching: readonly number[]): EntryNode {
  const entries = [{ source: { gives: ['SELECT'] as const }, members: reaching }];
  return {
    entries: [],
    children: new Map(OPEN_SYSTEM_SCHEMAS.map((schema) => [schema, { entries, children: new Map() }])),
  };
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
