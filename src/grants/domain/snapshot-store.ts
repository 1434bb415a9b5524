import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import { kindOf, namedBy, type Node } from '../../trino-rules/model/node.js';
import type { Principal } from '../../trino-rules/model/principal.js';
import { isAboutEveryone, Principals } from '../../trino-rules/model/principals.js';
import { principalsOf, type Snapshot, type SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';

/** The nodes and groups whose rules a transaction changes. */
export interface Touched {
  /** Each with its ancestors and descendants. A table counts as its schema, whose tables share rules. */
  nodes: readonly Node[];
  /** Ids. Touches every node where a grant or a policy names one of these groups. */
  groups: readonly number[];
}

/** Reads the input of the rules. */
export abstract class SnapshotStore {
  /**
   * One consistent state; inside a transaction, with its own writes. Revoked grants, and those expired by now, are left out:
   * they have no effect, so snapshots must not differ by them.
   */
  abstract read(): Promise<Snapshot>;
  /** The same for the touched rows and the principals that they name. Null: these are more than `maxRows` rows. */
  abstract readTouched(touched: Touched, maxRows: number): Promise<Snapshot | null>;
  /**
   * The same for one principal: with its row, its groups without their other members, and what names it, one of them or everyone.
   * @param node only with what is granted there or above; null: everywhere. Of an engine principal all its grants, which make it one
   * of everyone.
   */
  abstract readFor(principal: Principal, node: Node | null): Promise<Snapshot>;
  /** Grants on the node and above it that were never revoked, expired ones too: to the principal, to any group, and to everyone. */
  abstract grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]>;
  /** When the first grant expires after that; null: none does. */
  abstract nextExpiry(after: Date): Promise<Date | null>;
  /** The growth by rows written since then that still have effect. */
  abstract growth(since: Date): Promise<Growth>;
}

/** The settings that the rules depend on, out of all. */
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

/** What shares rules with a node: those beside the data together, else its schema, its catalog, or with nulls all catalogs. */
interface Area {
  /** The engine with its queries, and acting as others. */
  isBeside: boolean;
  catalog: string | null;
  schema: string | null;
}

/** A table counts as its schema, and a routine, which a restriction anywhere in its catalog closes, as its catalog. */
export function areaOf(node: Node): Area {
  const { catalog = null, schema = null } = node;
  const kind = kindOf(node);
  return {
    isBeside: kind === 'engine' || namedBy(node) !== undefined,
    catalog,
    schema: kind === 'routine' ? null : schema,
  };
}

/**
 * The part of a snapshot that a change of these nodes touches: entries in their areas, above and below, and the principals that these
 * name. What is said on everything is above all catalogs. As the store reads it of rows that are written.
 */
export function touchedPart(snapshot: Snapshot, nodes: readonly Node[]): Snapshot {
  const areas = nodes.map(areaOf);
  const inTree = areas.filter(({ isBeside }) => !isBeside);
  const keys = new Set(inTree.map(keyOf));
  const catalogs = new Set(inTree.map(({ catalog }) => catalog));
  const isTouched = ({ resource }: { resource: Node }): boolean => {
    const area = areaOf(resource);
    if (area.isBeside) return inTree.length < areas.length;
    if (area.catalog === null || catalogs.has(null)) return inTree.length > 0;
    if (area.schema === null) return catalogs.has(area.catalog);
    return keys.has(keyOf(area)) || keys.has(keyOf({ ...area, schema: null }));
  };
  const policies = snapshot.policies.filter(isTouched);
  const part = new Set(new Principals(snapshot).part(snapshot.grants.filter(isTouched), policies));
  const grants = snapshot.grants.filter((grant) => part.has(grant));
  const named = [...grants, ...policies].flatMap(principalsOf);
  const ids = (type: 'user' | 'group') => new Set(named.flatMap((each) => (each.type === type ? [each.id] : [])));
  const groupIds = ids('group');
  const isForAll = isAboutEveryone(grants, policies);
  // Engine principals in any group are among everyone.
  const groups = snapshot.groups.filter(({ id, engines }) => groupIds.has(id) || (isForAll && engines.length > 0));
  const userIds = new Set([...ids('user'), ...groups.flatMap(({ members }) => members)]);
  const users = snapshot.users.filter(({ id }) => isForAll || userIds.has(id));
  return { ...snapshot, grants, policies, groups, users };
}

function keyOf({ catalog, schema }: Area): string {
  return JSON.stringify([catalog, schema]);
}
