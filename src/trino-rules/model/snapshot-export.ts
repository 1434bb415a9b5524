import { distinctPrincipals, guaranteeFields } from './guarantee-file.js';
import type { Guarantee } from './guarantee.js';
import { compareNames, compareNodes, type Node, type NodeWithPrincipal, nodeOf, mapPrincipal } from './node.js';
import { principalWithoutId, hasId, type PolicyPrincipal } from './principal.js';
import { orderedPrivileges } from './privilege.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from './snapshot.js';

export type Descriptions = Readonly<
  Record<'groups' | 'grants' | 'policies' | 'guarantees', ReadonlyMap<number, string>>
>;

/** A snapshot file with names instead of ids. Equal rows have equal JSON texts. */
export interface ExportedSnapshot {
  version: 1;
  users: { name: string; is_active?: false }[];
  groups: ExportedGroup[];
  grants: ExportedRow[];
  policies: ExportedRow[];
  guarantees?: Record<string, unknown>[];
}

export interface ExportedGroup {
  name: string;
  description?: string;
  members: (string | { engine: string })[];
}

/** A node whose principal has a name instead of an id. */
export type NodeByName = NodeWithPrincipal<object>;

export type ExportedRow = Readonly<Record<string, unknown>> & {
  resource: NodeByName & { column?: string };
  description?: string;
};

/**
 * A snapshot as a file for git: without ids and settings, ordered by content, so that equal snapshots give equal bytes. Users that no
 * group, grant or policy names are left out. The snapshot must not contain ended grants, because all grants are written.
 */
export function exportSnapshot(snapshot: RowsOfSnapshot, descriptions = NO_DESCRIPTIONS): ExportedSnapshot {
  const exporter = new RowExporter(snapshot);
  const { users, guarantees: guaranteeRows = [] } = snapshot;
  const groups = described(snapshot.groups, descriptions.groups, (row) => exporter.exportGroup(row));
  const grants = described(snapshot.grants, descriptions.grants, (row) => exporter.exportGrant(row));
  const policies = described(snapshot.policies, descriptions.policies, (row) => exporter.exportPolicy(row));
  const sortedGuarantees = guaranteeRows.toSorted((a, b) => compareNames(a.name, b.name));
  const guarantees = described(sortedGuarantees, descriptions.guarantees, (row) => exporter.exportGuarantee(row));
  return {
    version: 1,
    users: users
      .filter(({ id }) => exporter.namedUsers.has(id))
      .map(({ name, isActive }) => ({ name, ...(!isActive && { is_active: false as const }) }))
      .sort((a, b) => compareNames(a.name, b.name)),
    groups: groups.sort((a, b) => compareNames(a.name, b.name)),
    grants: sortedByContent(grants),
    policies: sortedByContent(policies),
    ...(guarantees.length > 0 && { guarantees }),
  };
}

type RowsOfSnapshot = Pick<Snapshot, 'users' | 'groups' | 'grants' | 'policies' | 'guarantees'>;

const NO_TEXTS: ReadonlyMap<number, string> = new Map();
const NO_DESCRIPTIONS: Descriptions = { groups: NO_TEXTS, grants: NO_TEXTS, policies: NO_TEXTS, guarantees: NO_TEXTS };

/** Exports rows of one snapshot with names instead of ids, without descriptions. */
export class RowExporter {
  readonly namedUsers = new Set<number>();
  private readonly users: ReadonlyMap<number, string>;
  private readonly groups: ReadonlyMap<number, string>;

  constructor({ users, groups }: Pick<Snapshot, 'users' | 'groups'>) {
    this.users = new Map(users.map(({ id, name }) => [id, name]));
    this.groups = new Map(groups.map(({ id, name }) => [id, name]));
  }

  exportGroup({ name, members, engines }: SnapshotGroup): ExportedGroup {
    const accountNames = members.map((member) => this.exportUserName(member)).sort(compareNames);
    return { name, members: [...accountNames, ...[...engines].sort(compareNames).map((engine) => ({ engine }))] };
  }

  exportGrant({ principal, resource, privileges, expiresAt }: SnapshotGrant): ExportedRow {
    return {
      resource: this.exportNode(resource),
      principal: this.exportPrincipal(principal),
      privileges: orderedPrivileges(privileges),
      ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    };
  }

  exportPolicy(policy: SnapshotPolicy): ExportedRow {
    const except = distinctPrincipals(policy.except.map((principal) => this.exportPrincipal(principal)));
    return {
      resource: {
        ...this.exportNode(policy.resource),
        ...('column' in policy.resource && { column: policy.resource.column }),
      },
      kind: policy.kind,
      principal: this.exportPrincipal(policy.principal),
      ...(except.length > 0 && { except }),
      ...('expression' in policy && { expression: policy.expression }),
      ...('privileges' in policy && { privileges: orderedPrivileges(policy.privileges) }),
    };
  }

  exportGuarantee(guarantee: Guarantee): Record<string, unknown> {
    return guaranteeFields(guarantee, (principal) => this.exportPrincipal(principal));
  }

  private exportNode(node: Node): NodeByName {
    return mapPrincipal(nodeOf(node), (principal) => this.exportPrincipal(principal));
  }

  private exportPrincipal(principal: PolicyPrincipal): object {
    if (!hasId(principal)) return principalWithoutId(principal);
    const { type, id } = principal;
    return principalWithoutId({ type, id, name: type === 'user' ? this.exportUserName(id) : nameOf(this.groups, id) });
  }

  private exportUserName(id: number): string {
    this.namedUsers.add(id);
    return nameOf(this.users, id);
  }
}

function nameOf(namesById: ReadonlyMap<number, string>, id: number): string {
  const name = namesById.get(id);
  if (name === undefined) throw new RangeError(`the snapshot has no row ${id} that it names`);
  return name;
}

function described<Row extends { id: number }, Form extends object>(
  rows: readonly Row[],
  descriptions: ReadonlyMap<number, string>,
  exportRow: (row: Row) => Form,
): (Form & { description?: string })[] {
  return rows.map((row) => {
    const description = descriptions.get(row.id);
    return { ...exportRow(row), ...(description !== undefined && { description }) };
  });
}

/** Orders rows by node, then by column, then by all other content. */
function sortedByContent(rows: readonly ExportedRow[]): ExportedRow[] {
  return rows
    .map((row) => ({
      row,
      // Principals in nodes are not compared here, but as part of `text`.
      node: mapPrincipal(row.resource, () => ({ type: 'everyone' }) as const),
      column: row.resource.column ?? '',
      text: JSON.stringify(row),
    }))
    .sort((a, b) => compareNodes(a.node, b.node) || compareNames(a.column, b.column) || compareNames(a.text, b.text))
    .map(({ row }) => row);
}
