import { OPEN_SYSTEM_SCHEMAS } from '../model/intent.js';
import { isLive } from '../model/principal-matching.js';
import { PRIVILEGES, type Privilege } from '../model/privilege.js';
import type { Resource } from '../model/resource.js';
import type { Snapshot } from '../model/snapshot.js';
import type { EntrySource } from './interned-access.js';
import type { PrincipalIndex } from './principal-index.js';

/** A grant or a policy on a node, and the positions of those whom it means. */
export interface AccessEntry {
  source: EntrySource;
  members: readonly number[];
}

/** A node of which something is said, or that lies above one. */
export interface EntryNode {
  entries: AccessEntry[];
  children: Map<string, EntryNode>;
}

/**
 * Everything that a snapshot says, at the node of which it says it, by catalog; what the settings give service accounts too.
 * What is said of the metadata catalog and of `system` counts for nothing.
 */
export function entriesByNode(snapshot: Snapshot, principals: PrincipalIndex): Map<string, EntryNode> {
  const { grants, policies, settings, at } = snapshot;
  const root = emptyNode();
  const add = (resource: Resource, entry: AccessEntry): void => {
    if (resource.catalog === settings.metadataCatalog || resource.catalog === 'system') return;
    nodeAt(root, resource).entries.push(entry);
  };
  const giving = sharedGivings();
  for (const catalog of settings.writableCatalogs)
    add({ catalog }, { source: giving(PRIVILEGES), members: principals.serviceAccounts });
  for (const catalog of settings.readableCatalogs)
    add({ catalog }, { source: giving(['SELECT']), members: principals.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    add(grant.resource, { source: giving(grant.privileges), members: principals.resolvePrincipal(grant.principal) });
  }
  for (const policy of policies)
    add(policy.resource, { source: { policy }, members: principals.resolvePolicy(policy) });
  return root.children;
}

/** What follows from all the rest: whoever reaches something reads the open schemas of `system`. */
export function systemEntries(reaching: readonly number[]): EntryNode {
  const entries = [{ source: { gives: ['SELECT'] as const }, members: reaching }];
  return {
    entries: [],
    children: new Map(OPEN_SYSTEM_SCHEMAS.map((schema) => [schema, { entries, children: new Map() }])),
  };
}

/** Equal privileges as one source, so that those who have them by different grants are alike. */
function sharedGivings(): (privileges: readonly Privilege[]) => EntrySource {
  const shared = new Map<string, EntrySource>();
  return (privileges) => {
    const key = privileges.join();
    const source = shared.get(key) ?? { gives: privileges };
    shared.set(key, source);
    return source;
  };
}

function nodeAt(root: EntryNode, { catalog, schema, table }: Resource): EntryNode {
  let node = root;
  for (const name of [catalog, schema, table]) {
    if (name === undefined) break;
    const child = node.children.get(name) ?? emptyNode();
    node.children.set(name, child);
    node = child;
  }
  return node;
}

function emptyNode(): EntryNode {
  return { entries: [], children: new Map() };
}
