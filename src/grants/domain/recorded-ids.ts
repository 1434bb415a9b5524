import { type GroupMember, isRow, type PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { orderedPrivileges } from '../../trino-rules/model/privilege.js';
import { type Node, withNamed } from '../../trino-rules/model/node.js';
import type { SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { NewPolicy, PolicyRule } from './policy.js';
import type { DescribedSnapshot, FileMember } from './snapshot-changes.js';

/** The database's ids of what a file names by its own. */
export class RecordedIds {
  private readonly users: ReadonlyMap<string, number>;
  private readonly groups: Map<string, number>;
  private readonly fileUsers: ReadonlyMap<number, string>;
  private readonly fileGroups: ReadonlyMap<number, string>;

  constructor(recorded: DescribedSnapshot, file: DescribedSnapshot) {
    this.users = new Map(recorded.snapshot.users.map(({ id, name }) => [name, id]));
    this.groups = new Map(recorded.snapshot.groups.map(({ id, name }) => [name, id]));
    this.fileUsers = new Map(file.snapshot.users.map(({ id, name }) => [id, name]));
    this.fileGroups = new Map(file.snapshot.groups.map(({ id, name }) => [id, name]));
  }

  /** A group that was made; null: it could not be. */
  addGroup(made: { id: number; name: string } | null): void {
    if (made === null) throw new Error('a group of the file was made by another writer, under the lock');
    this.groups.set(made.name, made.id);
  }

  group(name: string | undefined): number {
    return present(this.groups.get(name ?? ''));
  }

  private user(name: string | undefined): number {
    return present(this.users.get(name ?? ''));
  }

  member(member: FileMember): GroupMember {
    return typeof member === 'string'
      ? { type: 'user', id: this.user(member) }
      : { type: 'engine', name: member.engine };
  }

  /** With the database's id, if it has a row. */
  principal<P extends PolicyPrincipal>(named: P): P {
    if (!isRow(named)) return named;
    const { type, id } = named;
    return { ...named, id: type === 'user' ? this.user(this.fileUsers.get(id)) : this.group(this.fileGroups.get(id)) };
  }

  /** With the database's ids of those whom it names. */
  node(node: Node): Node {
    return withNamed(node, (named) => this.principal(named));
  }

  policy(policy: SnapshotPolicy, description: string | null): NewPolicy {
    const except = policy.except.map((named) => this.principal(named));
    return { rule: this.ruleOf(policy), principal: this.principal(policy.principal), except, description };
  }

  private ruleOf(policy: SnapshotPolicy): PolicyRule {
    switch (policy.kind) {
      case 'row_filter':
        return { kind: policy.kind, resource: policy.resource, expression: policy.expression };
      case 'column_mask':
        return { kind: policy.kind, resource: policy.resource, expression: policy.expression };
      case 'hidden_column':
        return { kind: policy.kind, resource: policy.resource };
      case 'deny':
        return {
          kind: policy.kind,
          resource: this.node(policy.resource),
          privileges: orderedPrivileges(policy.privileges),
        };
    }
  }
}

function present(id: number | undefined): number {
  if (id === undefined) throw new Error('a file was read that names what is not recorded');
  return id;
}
