import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import type { Principal, PolicySubject } from '../trino-rules/model/principal.js';
import { orderedPrivileges } from '../trino-rules/model/resource.js';
import type { SnapshotPolicy } from '../trino-rules/model/snapshot.js';
import { grantEvent, groupEvent, policyEvent } from './domain/audit-details.js';
import { type GrantFilter, GrantStore } from './domain/grant.js';
import { GroupStore } from './domain/group.js';
import { type NewPolicy, type PolicyRule, PolicyStore } from './domain/policy.js';
import type { DescribedSnapshot, SnapshotChanges } from './domain/snapshot-changes.js';
import type { Touched } from './domain/snapshot-store.js';

export interface Written {
  /** What admission has to judge; empty where access was only taken away. */
  touched: { nodes: Touched['nodes'][number][]; groups: number[] };
  /** Ids of written policies, by their ids in the file. */
  policies: Map<number, number>;
}

/** Carries out the changes of a snapshot file, each with the audit event that the API records for it. */
@Injectable()
export class SnapshotWriter {
  constructor(
    private readonly groups: GroupStore,
    private readonly grants: GrantStore,
    private readonly policies: PolicyStore,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** In the running transaction, which has locked out other writers. */
  async write(
    changes: SnapshotChanges,
    recorded: DescribedSnapshot,
    file: DescribedSnapshot,
    by: AuditContext,
  ): Promise<Written> {
    const ids = new RecordedIds(recorded, file);
    const written: Written = { touched: { nodes: [], groups: [] }, policies: new Map() };
    await this.writeGroups(changes, file, ids, written, by);
    await this.writeGrants(changes, file, ids, written, by);
    await this.writePolicies(changes, file, ids, written, by);
    // Last, because no grant and no policy may name a group that goes.
    for (const { before, after } of changes.groups)
      if (before !== null && after === null) await this.deleteGroup(before, by);
    return written;
  }

  private async writeGroups(
    { groups }: SnapshotChanges,
    file: DescribedSnapshot,
    ids: RecordedIds,
    written: Written,
    by: AuditContext,
  ): Promise<void> {
    const now = this.clock.now();
    for (const { before, after, addedMembers, removedMembers } of groups) {
      if (after === null) continue;
      const description = file.descriptions.groups.get(after.id) ?? null;
      const group =
        before === null
          ? await this.groups.create(after.name, description, now)
          : await this.groups.change(before.id, { description });
      if (group === null || typeof group === 'string')
        throw new Error(`the group ${after.name} changed under its lock`);
      const event = before === null ? 'group_created' : 'group_changed';
      const members = addedMembers.length + removedMembers.length;
      if (before === null || members === 0) await this.audit.record(groupEvent(event, group, by, { description }));
      ids.addGroup(group);
      for (const name of addedMembers) {
        const user = ids.user(name);
        await this.groups.addMember(group.id, user, now);
        await this.audit.record(groupEvent('member_added', group, by, { user_id: user }));
      }
      for (const name of removedMembers) {
        const user = ids.user(name);
        await this.groups.removeMember(group.id, user);
        await this.audit.record(groupEvent('member_removed', group, by, { user_id: user }));
      }
      if (addedMembers.length > 0) written.touched.groups.push(group.id);
    }
  }

  private async writeGrants(
    { grants }: SnapshotChanges,
    file: DescribedSnapshot,
    ids: RecordedIds,
    written: Written,
    by: AuditContext,
  ): Promise<void> {
    for (const { before } of grants) if (before !== null) await this.revoke(before.id, by);
    for (const { after } of grants) {
      if (after === null) continue;
      const { resource, privileges, expiresAt } = after;
      const description = file.descriptions.grants.get(after.id) ?? null;
      const asked = { resource, privileges: orderedPrivileges(privileges), expiresAt, description };
      const principal = ids.principal(after.principal);
      const { grant } = await this.grants.grant({ ...asked, principal }, by.actor?.id ?? null, this.clock.now());
      await this.audit.record(grantEvent('grant_created', grant, by));
      written.touched.nodes.push(resource);
    }
  }

  private async writePolicies(
    { policies }: SnapshotChanges,
    file: DescribedSnapshot,
    ids: RecordedIds,
    written: Written,
    by: AuditContext,
  ): Promise<void> {
    const now = this.clock.now();
    for (const { before, after } of policies) {
      if (after === null) {
        if (before !== null) await this.removePolicy(before.id, by);
        continue;
      }
      const description = file.descriptions.policies.get(after.id) ?? null;
      const asked = ids.policy(after, description);
      const policy =
        before === null ? await this.policies.create(asked, now) : await this.policies.replace(before.id, asked, now);
      if (policy === null) throw new Error('a policy changed under its lock');
      await this.audit.record(policyEvent(before === null ? 'policy_created' : 'policy_changed', policy, by));
      written.policies.set(after.id, policy.id);
      written.touched.nodes.push(after.resource);
    }
  }

  private async removePolicy(id: number, by: AuditContext): Promise<void> {
    const policy = await this.policies.find(id);
    await this.policies.remove(id, this.clock.now());
    if (policy !== null) await this.audit.record(policyEvent('policy_deleted', policy, by));
  }

  private async revoke(id: number, by: AuditContext): Promise<void> {
    const outcome = await this.grants.revoke(id, by.actor?.id ?? null, this.clock.now());
    if (outcome?.revoked === true) await this.audit.record(grantEvent('grant_revoked', outcome.grant, by));
  }

  /** Expired grants name the group until they are revoked. */
  private async deleteGroup({ id, name }: { id: number; name: string }, by: AuditContext): Promise<void> {
    const anywhere = { catalog: null, schema: null, table: null };
    const ofGroup: GrantFilter = { principal: { type: 'group', id }, ...anywhere, state: 'expired' };
    const { items } = await this.grants.list(ofGroup, { limit: EVERY_ROW, after: null }, this.clock.now());
    for (const grant of items) await this.revoke(grant.id, by);
    const outcome = await this.groups.delete(id, this.clock.now());
    if (outcome !== 'deleted') throw new Error(`the group ${name} is ${outcome} under its lock`);
    await this.audit.record(groupEvent('group_deleted', { id, name }, by, {}));
  }
}

/** No more rows than PostgreSQL counts in an integer. */
export const EVERY_ROW = 2 ** 31 - 2;

/** The database's ids of what a file names by its own. */
class RecordedIds {
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

  addGroup({ id, name }: { id: number; name: string }): void {
    this.groups.set(name, id);
  }

  user(name: string | undefined): number {
    return present(this.users.get(name ?? ''));
  }

  principal(named: Principal): Principal {
    if (named.type === 'user') return { type: 'user', id: this.user(this.fileUsers.get(named.id)) };
    if (named.type === 'engine') return named;
    return { type: 'group', id: present(this.groups.get(this.fileGroups.get(named.id) ?? '')) };
  }

  policy(policy: SnapshotPolicy, description: string | null): NewPolicy {
    const except = policy.except.map((named) => this.principal(named));
    return { rule: ruleOf(policy), principal: this.subject(policy.principal), except, description };
  }

  private subject(named: PolicySubject): PolicySubject {
    return named.type === 'everyone' ? named : this.principal(named);
  }
}

function present(id: number | undefined): number {
  if (id === undefined) throw new Error('a file was read that names what is not recorded');
  return id;
}

function ruleOf(policy: SnapshotPolicy): PolicyRule {
  switch (policy.kind) {
    case 'row_filter':
      return { kind: policy.kind, resource: policy.resource, expression: policy.expression };
    case 'column_mask':
      return { kind: policy.kind, resource: policy.resource, expression: policy.expression };
    case 'hidden_column':
      return { kind: policy.kind, resource: policy.resource };
    case 'deny':
      return { kind: policy.kind, resource: policy.resource, privileges: orderedPrivileges(policy.privileges) };
  }
}
