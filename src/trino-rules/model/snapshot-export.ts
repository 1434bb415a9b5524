import { distinct, guaranteeFields } from './guarantee-file.js';
import type { Guarantee } from './guarantee.js';
import { compareNames, compareNodes, type Node, type NodeNaming, nodeOf, withNamed } from './node.js';
import { byName, hasId, type PolicyPrincipal } from './principal.js';
import { orderedPrivileges } from './privilege.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from './snapshot.js';

/** Descriptions of rows, by id. */
export type Descriptions = Readonly<
  Record<'groups' | 'grants' | 'policies' | 'guarantees', ReadonlyMap<number, string>>
>;

/** The rows of a snapshot file: by name, without ids; equal rows have equal JSON texts. */
export interface ExportedSnapshot {
  version: 1;
  users: { name: string; is_active?: false }[];
  groups: ExportedGroup[];
  grants: ExportedRow[];
  policies: ExportedRow[];
  /** Absent: there are none. */
  guarantees?: Record<string, unknown>[];
}

export interface ExportedGroup {
  name: string;
  description?: string;
  members: (string | { engine: string })[];
}

/** A node whose principal is given by name. */
export type NodeByName = NodeNaming<object>;

export type ExportedRow = Readonly<Record<string, unknown>> & {
  resource: NodeByName & { column?: string };
  description?: string;
};

/**
 * A snapshot as a file that is kept in git: without ids and settings, ordered by content, so that equal access gives equal bytes.
 * Users that no group, grant or policy names are left out. The snapshot's rows are taken as live.
 */
export function exportSnapshot(snapshot: RowsOfSnapshot, descriptions = NO_DESCRIPTIONS): ExportedSnapshot {
  const rows = new RowExport(snapshot);
  const groups = snapshot.groups.map((group) => described(rows.group(group), descriptions.groups.get(group.id)));
  const grants = snapshot.grants.map((grant) => described(rows.grant(grant), descriptions.grants.get(grant.id)));
  const policies = snapshot.policies.map((row) => described(rows.policy(row), descriptions.policies.get(row.id)));
  const guarantees = [...(snapshot.guarantees ?? [])]
    .sort((a, b) => compareNames(a.name, b.name))
    .map((row) => described(rows.guarantee(row), descriptions.guarantees.get(row.id)));
  return {
    version: 1,
    users: snapshot.users
      .filter(({ id }) => rows.namedUsers.has(id))
      .map(({ name, isActive }) => ({ name, ...(!isActive && { is_active: false as const }) }))
      .sort((a, b) => compareNames(a.name, b.name)),
    groups: groups.sort((a, b) => compareNames(a.name, b.name)),
    grants: byContent(grants),
    policies: byContent(policies),
    ...(guarantees.length > 0 && { guarantees }),
  };
}

type RowsOfSnapshot = Pick<Snapshot, 'users' | 'groups' | 'grants' | 'policies' | 'guarantees'>;

const NONE: ReadonlyMap<number, string> = new Map();
const NO_DESCRIPTIONS: Descriptions = { groups: NONE, grants: NONE, policies: NONE, guarantees: NONE };

/** Rows of one snapshot by name, without descriptions. */
export class RowExport {
  /** Users that the rows exported so far name. */
  readonly namedUsers = new Set<number>();
  private readonly users: ReadonlyMap<number, string>;
  private readonly groups: ReadonlyMap<number, string>;

  constructor({ users, groups }: Pick<Snapshot, 'users' | 'groups'>) {
    this.users = new Map(users.map(({ id, name }) => [id, name]));
    this.groups = new Map(groups.map(({ id, name }) => [id, name]));
  }

  group({ name, members, engines }: SnapshotGroup): ExportedGroup {
    const accounts = members.map((member) => this.user(member)).sort(compareNames);
    return { name, members: [...accounts, ...[...engines].sort(compareNames).map((engine) => ({ engine }))] };
  }

  grant({ principal, resource, privileges, expiresAt }: SnapshotGrant): ExportedRow {
    return {
      resource: this.node(resource),
      principal: this.policyPrincipal(principal),
      privileges: orderedPrivileges(privileges),
      ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    };
  }

  policy(policy: SnapshotPolicy): ExportedRow {
    const except = distinct(policy.except.map((named) => this.policyPrincipal(named)));
    return {
      resource: {
        ...this.node(policy.resource),
        ...('column' in policy.resource && { column: policy.resource.column }),
      },
      kind: policy.kind,
      principal: this.policyPrincipal(policy.principal),
      ...(except.length > 0 && { except }),
      ...('expression' in policy && { expression: policy.expression }),
      ...('privileges' in policy && { privileges: orderedPrivileges(policy.privileges) }),
    };
  }

  guarantee(guarantee: Guarantee): Record<string, unknown> {
    return guaranteeFields(guarantee, (named) => this.policyPrincipal(named));
  }

  private node(node: Node): NodeByName {
    return withNamed(nodeOf(node), (named) => this.policyPrincipal(named));
  }

  private policyPrincipal(named: PolicyPrincipal): object {
    if (!hasId(named)) return byName(named);
    return byName({ ...named, name: named.type === 'user' ? this.user(named.id) : known(this.groups, named.id) });
  }

  private user(id: number): string {
    this.namedUsers.add(id);
    return known(this.users, id);
  }
}

function known(names: ReadonlyMap<number, string>, id: number): string {
  const name = names.get(id);
  if (name === undefined) throw new RangeError(`the snapshot has no row ${id} that it names`);
  return name;
}

function described<T extends object>(row: T, description: string | undefined): T & { description?: string } {
  return description === undefined ? row : { ...row, description };
}

/** Orders rows by node, then by column, then by all other content. */
function byContent(rows: readonly ExportedRow[]): ExportedRow[] {
  return rows
    .map((row) => ({
      row,
      // Rows whose nodes differ only in a named principal are ordered by their texts.
      node: withNamed(row.resource, () => ({ type: 'everyone' }) as const),
      column: row.resource.column ?? '',
      text: JSON.stringify(row),
    }))
    .sort((a, b) => compareNodes(a.node, b.node) || compareNames(a.column, b.column) || compareNames(a.text, b.text))
    .map(({ row }) => row);
}
