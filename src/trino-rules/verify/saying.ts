import { isLive } from '../model/applies.js';
import { OPEN_SYSTEM_SCHEMAS } from '../model/intent.js';
import { PRIVILEGES, type Privilege } from '../model/privilege.js';
import type { Resource } from '../model/resource.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Source } from './entitlement.js';
import type { Roster } from './roster.js';

/** A grant or a policy on a node, and the positions of those whom it means. */
export interface Saying {
  source: Source;
  means: readonly number[];
}

/** A node of which something is said, or that lies above one. */
export interface SaidNode {
  said: Saying[];
  below: Map<string, SaidNode>;
}

/**
 * Everything that a snapshot says, at the node of which it says it, by catalog; what the settings give service accounts too.
 * What is said of the metadata catalog and of `system` counts for nothing.
 */
export function sayings(snapshot: Snapshot, roster: Roster): Map<string, SaidNode> {
  const { grants, policies, settings, at } = snapshot;
  const root = emptyNode();
  const say = (resource: Resource, saying: Saying): void => {
    if (resource.catalog === settings.metadataCatalog || resource.catalog === 'system') return;
    place(root, resource).said.push(saying);
  };
  const giving = sharedGivings();
  for (const catalog of settings.writableCatalogs)
    say({ catalog }, { source: giving(PRIVILEGES), means: roster.serviceAccounts });
  for (const catalog of settings.readableCatalogs)
    say({ catalog }, { source: giving(['SELECT']), means: roster.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    say(grant.resource, { source: giving(grant.privileges), means: roster.meant(grant.principal) });
  }
  for (const policy of policies) say(policy.resource, { source: { policy }, means: roster.meantByPolicy(policy) });
  return root.below;
}

/** What follows from all the rest: whoever reaches something reads the open schemas of `system`. */
export function sayingsOfSystem(reaching: readonly number[]): SaidNode {
  const said = [{ source: { gives: ['SELECT'] as const }, means: reaching }];
  return { said: [], below: new Map(OPEN_SYSTEM_SCHEMAS.map((schema) => [schema, { said, below: new Map() }])) };
}

/** Equal privileges as one source, so that those who have them by different grants are alike. */
function sharedGivings(): (privileges: readonly Privilege[]) => Source {
  const shared = new Map<string, Source>();
  return (privileges) => {
    const key = privileges.join();
    const source = shared.get(key) ?? { gives: privileges };
    shared.set(key, source);
    return source;
  };
}

function place(root: SaidNode, { catalog, schema, table }: Resource): SaidNode {
  let node = root;
  for (const name of [catalog, schema, table]) {
    if (name === undefined) break;
    const below = node.below.get(name) ?? emptyNode();
    node.below.set(name, below);
    node = below;
  }
  return node;
}

function emptyNode(): SaidNode {
  return { said: [], below: new Map() };
}
