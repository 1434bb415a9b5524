import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import { isNonDataNode, kindOf, type Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import { isAboutEveryone, Principals } from '../../trino-rules/model/principals.js';
import { principalsOf, type Snapshot, type SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';

/** The nodes and groups whose rules a transaction changes. */
export interface Touched {
  /** Touches each node's ancestors and descendants as well. A table counts as its schema, because its tables share rules. */
  nodes: readonly Node[];
  /** Ids of groups. Touches every node where a grant or a policy names one of them. */
  groups: readonly number[];
  /** Further principals to read, with their members. */
  named?: readonly PolicyPrincipal[];
  /** Whether members only leave the groups: they lose what is granted to these. */
  isLeaving?: boolean;
  /** Whether an engine principal may become known by its first grant or group, and with that one of everyone. */
  mayJoinEveryone?: boolean;
}

/** Reads the input of the rules. */
export abstract class SnapshotStore {
  /**
   * Reads one consistent state; inside a transaction, with its writes. Leaves out revoked and expired grants, because they have no
   * effect and snapshots must not differ by them.
   */
  abstract read(): Promise<Snapshot>;
  /** Reads only the touched rows and the principals that they name. Null: there are more than `maxRows` of them. */
  abstract readTouched(touched: Touched, maxRows: number): Promise<Snapshot | null>;
  /** As `readTouched`, without the writes of the running transaction. */
  abstract readCommitted(touched: Touched, maxRows: number): Promise<Snapshot | null>;
  /**
   * Reads only what concerns one principal: its row, its groups without their other members, and entries for it, its groups or everyone.
   * @param node limits grants to those on the node or above; null: no limit. An engine principal always comes with all its grants,
   * because having a grant makes it one of everyone.
   */
  abstract readFor(principal: Principal, node: Node | null): Promise<Snapshot>;
  /** Grants on the node and above it to the principal, to any group and to everyone: expired ones too, but no revoked ones. */
  abstract grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]>;
  /** The earliest expiry of a grant after a time; null: there is none. */
  abstract nextExpiry(after: Date): Promise<Date | null>;
  /** The growth by rows that were written since a time and still have effect. */
  abstract growth(since: Date): Promise<Growth>;
}

/** Selects the settings that the rules depend on. */
export function snapshotSettings({
  acl,
  engine,
}: {
  acl: Omit<SnapshotSettings, 'ownAccount' | 'impersonation'>;
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
  };
}

/** The nodes that share rules with a node: all non-data nodes, or those of its schema, its catalog (`schema` null) or all catalogs. */
interface Area {
  /** True for the nodes outside the data: the engine, queries, and impersonation. */
  isNonData: boolean;
  catalog: string | null;
  schema: string | null;
}

/** The area of a node: of a table its schema; of a routine its catalog, because a restriction anywhere in there closes it. */
export function areaOf(node: Node): Area {
  const { catalog = null, schema = null } = node;
  const kind = kindOf(node);
  return {
    isNonData: isNonDataNode(node),
    catalog,
    schema: kind === 'routine' ? null : schema,
  };
}

/**
 * The part of a snapshot that a change of these nodes touches: entries in their areas, above and below, and the principals of these
 * entries. An entry on everything is above all catalogs. `SnapshotStore.readTouched` selects the same rows in the database.
 */
export function touchedPart(
  snapshot: Snapshot,
  nodes: readonly Node[],
  further: readonly PolicyPrincipal[] = [],
): Snapshot {
  const areas = nodes.map(areaOf);
  const inTree = areas.filter(({ isNonData }) => !isNonData);
  const keys = new Set(inTree.map(keyOf));
  const catalogs = new Set(inTree.map(({ catalog }) => catalog));
  const isTouched = ({ resource }: { resource: Node }): boolean => {
    const area = areaOf(resource);
    if (area.isNonData) return inTree.length < areas.length;
    if (area.catalog === null || catalogs.has(null)) return inTree.length > 0;
    if (area.schema === null) return catalogs.has(area.catalog);
    return keys.has(keyOf(area)) || keys.has(keyOf({ ...area, schema: null }));
  };
  const policies = snapshot.policies.filter(isTouched);
  const touched = snapshot.grants.filter(isTouched);
  const isForAll = isAboutEveryone(touched, policies) || further.some(({ type }) => type === 'everyone');
  const part = new Set(new Principals(snapshot).part(touched, policies, isForAll));
  const grants = snapshot.grants.filter((grant) => part.has(grant));
  const named = [...[...grants, ...policies].flatMap(principalsOf), ...further];
  const ids = (type: 'user' | 'group') => new Set(named.flatMap((each) => (each.type === type ? [each.id] : [])));
  const groupIds = ids('group');
  // Everyone includes the engine principals that are in any group.
  const groups = snapshot.groups.filter(({ id, engines }) => groupIds.has(id) || (isForAll && engines.length > 0));
  const userIds = new Set([...ids('user'), ...groups.flatMap(({ members }) => members)]);
  const users = snapshot.users.filter(({ id }) => isForAll || userIds.has(id));
  return { ...snapshot, grants, policies, groups, users };
}

function keyOf({ catalog, schema }: Area): string {
  return JSON.stringify([catalog, schema]);
}
