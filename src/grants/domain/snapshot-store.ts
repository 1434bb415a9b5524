import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import { isOutsideCatalogs, kindOf, type Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import { dependsOnEveryone, Principals } from '../../trino-rules/model/principals.js';
import { principalsOf, type Snapshot, type SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';

/** The nodes and groups whose rules a transaction changes. */
export interface TouchedScope {
  /** The scope also includes the nodes above and below these, and all tables of their schemas. */
  nodes: readonly Node[];
  /** Ids of groups. The rules change at every node at which a grant or a policy names one of these groups. */
  groups: readonly number[];
  /** Further principals to read with their members, although the rules about them do not change. */
  principals?: readonly PolicyPrincipal[];
  /** Whether the transaction only removes members of `groups`. Leaving a group adds access only where a policy names the group. */
  isLeaving?: boolean;
  /** Whether an engine principal may get its first grant or group. The principal then joins everyone, with the grants and policies for everyone. */
  mayJoinEveryone?: boolean;
}

/** Reads snapshots: the recorded access from which the rules are compiled. */
export abstract class SnapshotStore {
  /**
   * Reads one consistent state, including the writes of the running transaction. Leaves out revoked and expired grants, which have
   * no effect, so that snapshots that differ only in such grants are equal.
   */
  abstract read(): Promise<Snapshot>;
  /** Reads only the grants and policies in `touchedScope` and the principals in them. Null: there are more than `maxRows` nodes or grants. */
  abstract readTouched(touchedScope: TouchedScope, maxRows: number): Promise<Snapshot | null>;
  /** Like `readTouched`, but without the writes of the running transaction. */
  abstract readCommitted(touchedScope: TouchedScope, maxRows: number): Promise<Snapshot | null>;
  /**
   * Reads only one principal: its row, its groups without their other members, and the grants and policies for it, its groups or everyone.
   * @param node usually, only grants on this node or above are read; null: all grants
   */
  abstract readFor(principal: Principal, node: Node | null): Promise<Snapshot>;
  /** Grants on the node and above it to the principal, to any group and to everyone. Includes expired grants, but no revoked ones. */
  abstract grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]>;
  /** The earliest expiry of a grant that is after `afterDate`; null: there is none. */
  abstract nextExpiry(afterDate: Date): Promise<Date | null>;
  /** Upper estimate of the growth of the rules by rows written since this time. Rows without effect are not counted. */
  abstract growthSince(since: Date): Promise<Growth>;
}

/** Selects the settings that the rules depend on. */
export function snapshotSettings({
  acl,
  engine,
}: {
  acl: Omit<SnapshotSettings, 'ownAccount' | 'impersonation' | 'rulesFile'> & { targets: readonly unknown[] };
  engine: { user: string; impersonation: boolean };
}): SnapshotSettings {
  return {
    ownAccount: engine.user,
    serviceAccounts: acl.serviceAccounts,
    writableCatalogs: acl.writableCatalogs,
    readableCatalogs: acl.readableCatalogs,
    metadataCatalog: acl.metadataCatalog,
    impersonation: engine.impersonation,
    sessionProperties: acl.sessionProperties,
    readersMaintain: acl.readersMaintain,
    externalTableCatalogs: acl.externalTableCatalogs,
    rawColumnCatalogs: acl.rawColumnCatalogs,
    ...(acl.targets.length === 0 && { rulesFile: false }),
  };
}

/** A set of nodes that share rules: a schema, a catalog (`schema` null), all catalogs (`catalog` null), or all nodes outside of the data. */
interface Area {
  /** True for the nodes outside the data: the engine, queries, and impersonation. */
  isNonData: boolean;
  catalog: string | null;
  schema: string | null;
}

/** The area of a node: mostly its schema, because nodes of a schema share rules. For a routine: its catalog, because any restriction there denies the routine. */
export function areaOf(node: Node): Area {
  const { catalog = null, schema = null } = node;
  const kind = kindOf(node);
  return { isNonData: isOutsideCatalogs(node), catalog, schema: kind === 'routine' ? null : schema };
}

/** Makes a test whether a change of `nodes` can affect a given node. It can if the node's area (`areaOf`) overlaps the area of one of `nodes`. */
export function makeTouchTest(nodes: readonly Node[]): (node: Node) => boolean {
  const areas = nodes.map(areaOf);
  const dataAreas = areas.filter(({ isNonData }) => !isNonData);
  const areaKeys = new Set(dataAreas.map(areaKey));
  const catalogs = new Set(dataAreas.map(({ catalog }) => catalog));
  return (node) => {
    const area = areaOf(node);
    if (area.isNonData) return dataAreas.length < areas.length;
    if (area.catalog === null || catalogs.has(null)) return dataAreas.length > 0;
    if (area.schema === null) return catalogs.has(area.catalog);
    return areaKeys.has(areaKey(area)) || areaKeys.has(areaKey({ ...area, schema: null }));
  };
}

/**
 * The part of a snapshot that a change of these nodes can affect: all grants and policies that `makeTouchTest` selects, and their principals.
 * `SnapshotStore.readTouched` selects the same rows in the database.
 */
export function touchedPart(
  snapshot: Snapshot,
  nodes: readonly Node[],
  principals: readonly PolicyPrincipal[] = [],
): Snapshot {
  const isTouched = makeTouchTest(nodes);
  const policies = snapshot.policies.filter(({ resource }) => isTouched(resource));
  const touchedGrants = snapshot.grants.filter(({ resource }) => isTouched(resource));
  const hasEveryone = dependsOnEveryone(touchedGrants, policies) || principals.some(({ type }) => type === 'everyone');
  const grantsToKeep = new Set(new Principals(snapshot).withEngineGrants(touchedGrants, policies, hasEveryone));
  const grants = snapshot.grants.filter((grant) => grantsToKeep.has(grant));
  const allPrincipals = [...[...grants, ...policies].flatMap(principalsOf), ...principals];
  const idsOf = (type: 'user' | 'group') =>
    new Set(allPrincipals.flatMap((each) => (each.type === type ? [each.id] : [])));
  const groupIds = idsOf('group');
  // With `hasEveryone`, all groups with engine principals are needed, because everyone includes the engine principals of every group.
  const groups = snapshot.groups.filter(({ id, engines }) => groupIds.has(id) || (hasEveryone && engines.length > 0));
  const userIds = new Set([...idsOf('user'), ...groups.flatMap(({ members }) => members)]);
  const users = snapshot.users.filter(({ id }) => hasEveryone || userIds.has(id));
  return { ...snapshot, grants, policies, groups, users };
}

function areaKey({ catalog, schema }: Area): string {
  return JSON.stringify([catalog, schema]);
}
