import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext, AuditEntry } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { type Node, mapPrincipal } from '../trino-rules/model/node.js';
import { type GroupMember, hasId, type PolicyPrincipal } from '../trino-rules/model/principal.js';
import { orderedPrivileges } from '../trino-rules/model/privilege.js';
import type { Guarantee } from '../trino-rules/model/guarantee.js';
import type { SnapshotPolicy } from '../trino-rules/model/snapshot.js';
import { creationEvents, groupEvent, memberDetails, policyEvent, revocationEvents } from './domain/audit-details.js';
import { localGroup, type Membership } from './domain/group.js';
import { type NewPolicy, policyRule } from './domain/policy.js';
import type { DescribedSnapshot, FileMember, SnapshotChanges } from './domain/snapshot-changes.js';
import type { TouchedScope } from './domain/snapshot-store.js';
import { GrantStore } from './grant.store.js';
import { GroupStore } from './group.store.js';
import { GuaranteeStore } from './guarantee.store.js';
import { PolicyStore } from './policy.store.js';

export interface WriteResult {
  /** Nodes and groups that admission has to check. Empty if the changes only take access away. */
  touchedScope: { nodes: TouchedScope['nodes'][number][]; groups: number[] };
  /** Ids of written policies, by their ids in the file. */
  policyIds: Map<number, number>;
  guarantees: Guarantee[];
}

interface SnapshotWrite {
  changes: SnapshotChanges;
  database: DescribedSnapshot;
  file: DescribedSnapshot;
}

type WriteState = SnapshotWrite & {
  ids: RecordedIds;
  result: WriteResult;
  context: AuditContext;
  report: ReportProgress;
};

/** A callback for the progress so far, such as `5000 of 100000 grants written`. */
export type ReportProgress = (progress: string) => void;

/** The most rows of one statement, so that each statement ends long before the statement timeout. */
const CHUNK_SIZE = 1_000;

/** Writes the changes of a snapshot file, each with the audit event that the API would record. */
@Injectable()
export class SnapshotWriter {
  constructor(
    private readonly groups: GroupStore,
    private readonly grants: GrantStore,
    private readonly policies: PolicyStore,
    private readonly guarantees: GuaranteeStore,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Writes the plan in the running transaction, which must have locked out other writers. */
  async write(plan: SnapshotWrite, context: AuditContext, report: ReportProgress): Promise<WriteResult> {
    const ids = new RecordedIds(plan.database, plan.file);
    const result: WriteResult = { touchedScope: { nodes: [], groups: [] }, policyIds: new Map(), guarantees: [] };
    const currentWrite = { ...plan, ids, result, context, report };
    await this.writeGroups(currentWrite);
    await this.writeGrants(currentWrite);
    await this.writePolicies(currentWrite);
    await this.writeGuarantees(currentWrite);
    // Groups are deleted last, because rows may refer to them until the other changes are written.
    const deletedGroups = plan.changes.groups.flatMap(({ oldRow, newRow }) => (newRow ? [] : (oldRow ?? [])));
    for (const chunk of chunks(deletedGroups, 'groups removed', report))
      for (const group of chunk) await this.deleteGroup(group, context);
    return result;
  }

  private async writeGroups({ changes, database, file, ids, result, context, report }: WriteState): Promise<void> {
    const now = this.clock.now();
    const events: AuditEntry[] = [];
    const keptGroups = changes.groups.flatMap(({ newRow, ...change }) => (newRow ? [{ newRow, ...change }] : []));
    const descriptionOf = (id: number): string | null => file.descriptions.groups.get(id) ?? null;
    const newGroups = keptGroups.flatMap(({ oldRow, newRow: { id, name } }) =>
      oldRow === null ? [localGroup(name, descriptionOf(id))] : [],
    );
    for (const chunk of chunks(newGroups, 'groups written', report))
      for (const group of await this.groups.create(chunk, now)) ids.addGroup(group);

    const addedMemberships: Membership[] = [];
    const lostMemberships: Membership[] = [];
    for (const { oldRow, newRow, addedMembers, removedMembers } of keptGroups) {
      const group = { id: ids.groupId(newRow.name), name: newRow.name };
      const description = descriptionOf(newRow.id);
      if (oldRow === null) events.push(groupEvent('group_created', group, context, { description }));
      else if (description !== (database.descriptions.groups.get(oldRow.id) ?? null)) {
        await this.groups.change(group.id, { description }, now);
        events.push(groupEvent('group_changed', group, context, { description }));
      }
      for (const [fileMembers, members, event] of [
        [addedMembers, addedMemberships, 'member_added'],
        [removedMembers, lostMemberships, 'member_removed'],
      ] as const) {
        for (const member of fileMembers.map((each) => ids.mapMember(each))) {
          members.push({ groupId: group.id, member });
          events.push(groupEvent(event, group, context, memberDetails(member)));
        }
      }
      if (addedMembers.length > 0) result.touchedScope.groups.push(group.id);
    }
    for (const chunk of chunks(addedMemberships, 'members added', report)) await this.groups.addMembers(chunk, now);
    for (const chunk of chunks(lostMemberships, 'members removed', report)) await this.groups.removeMembers(chunk, now);
    for (const chunk of chunks(events, 'audit events written', report)) await this.audit.recordAll(chunk);
  }

  private async writeGrants({ changes, file, ids, result, context, report }: WriteState): Promise<void> {
    const revokedIds = changes.grants.flatMap(({ oldRow }) => oldRow?.id ?? []);
    for (const chunk of chunks(revokedIds, 'grants revoked', report)) await this.revokeGrants(chunk, context);
    const newGrants = changes.grants.flatMap(({ newRow }) => newRow ?? []);
    for (const chunk of chunks(newGrants, 'grants written', report)) {
      const rows = chunk.map(({ id, principal, resource, privileges, expiresAt }) => ({
        ...{ principal: ids.mapPrincipal(principal), resource: ids.mapNode(resource), expiresAt },
        privileges: orderedPrivileges(privileges),
        description: file.descriptions.grants.get(id) ?? null,
      }));
      const outcomes = await this.grants.grant(rows, context.actor?.id ?? null, this.clock.now());
      await this.audit.recordAll(creationEvents(outcomes, context));
      result.touchedScope.nodes.push(...chunk.map(({ resource }) => resource));
    }
  }

  private async writePolicies({ changes, file, ids, result, context, report }: WriteState): Promise<void> {
    const now = this.clock.now();
    for (const chunk of chunks(changes.policies, 'policies written', report)) {
      const events: AuditEntry[] = [];
      for (const { oldRow, newRow } of chunk) {
        if (newRow === null) {
          const policy = oldRow && (await this.policies.remove(oldRow.id, now));
          if (policy !== null && typeof policy === 'object')
            events.push(policyEvent('policy_deleted', policy, context));
          continue;
        }
        const newPolicy = ids.mapPolicy(newRow, file.descriptions.policies.get(newRow.id) ?? null);
        const replacement = oldRow && (await this.policies.replace(oldRow.id, newPolicy, now));
        if (oldRow !== null && replacement === null) throw new Error('a policy changed under its lock');
        const policy = replacement?.policy ?? (await this.policies.create(newPolicy, now));
        events.push(policyEvent(oldRow === null ? 'policy_created' : 'policy_changed', policy, context));
        result.policyIds.set(newRow.id, policy.id);
        result.touchedScope.nodes.push(newRow.resource);
      }
      await this.audit.recordAll(events);
    }
  }

  private async writeGuarantees({ changes, file, ids, result, context }: WriteState): Promise<void> {
    const now = this.clock.now();
    for (const { oldRow, newRow } of changes.guarantees) {
      const { id = 0 } = oldRow ?? {};
      if (newRow === null) {
        await this.guarantees.remove(id, context, now);
        continue;
      }
      const description = file.descriptions.guarantees.get(newRow.id) ?? null;
      const writeOutcome = await this.guarantees.write({ ...ids.mapGuarantee(newRow), id }, description, context, now);
      if (writeOutcome === null) throw new Error('a guarantee changed under its lock');
      result.guarantees.push(writeOutcome.recordedGuarantee.guarantee);
    }
  }

  private async revokeGrants(grantIds: readonly number[], context: AuditContext): Promise<void> {
    const outcomes = await this.grants.revoke(grantIds, context.actor?.id ?? null, this.clock.now());
    await this.audit.recordAll(revocationEvents(outcomes, context));
  }

  /** Deletes a group, after revoking its expired grants, which still refer to it. */
  private async deleteGroup({ id, name }: { id: number; name: string }, context: AuditContext): Promise<void> {
    await this.revokeGrants(await this.grants.grantsNaming({ type: 'group', id }), context);
    const outcome = await this.groups.delete(id, this.clock.now());
    if (outcome !== 'deleted') throw new Error(`the group ${name} cannot be deleted under its lock`);
    await this.audit.record(groupEvent('group_deleted', { id, name }, context, {}));
  }
}

/** A page size that includes every row. One less than PostgreSQL's greatest integer, because the page queries add 1. */
export const EVERY_ROW = 2 ** 31 - 2;

/** Yields rows in chunks. Reports a chunk as written when the next one is requested, because the caller's loop has written it by then. */
export function* chunks<T>(rows: readonly T[], unit: string, report: ReportProgress): Generator<T[]> {
  for (let start = 0; start < rows.length; start += CHUNK_SIZE) {
    const chunk = rows.slice(start, start + CHUNK_SIZE);
    yield chunk;
    report(`${start + chunk.length} of ${rows.length} ${unit}`);
  }
}

/** Translates ids of users and groups in the file to those in the database. */
class RecordedIds {
  private readonly userIds: ReadonlyMap<string, number>;
  private readonly groupIds: Map<string, number>;
  private readonly fileUserNames: ReadonlyMap<number, string>;
  private readonly fileGroupNames: ReadonlyMap<number, string>;

  constructor(database: DescribedSnapshot, file: DescribedSnapshot) {
    this.userIds = new Map(database.snapshot.users.map(({ id, name }) => [name, id]));
    this.groupIds = new Map(database.snapshot.groups.map(({ id, name }) => [name, id]));
    this.fileUserNames = new Map(file.snapshot.users.map(({ id, name }) => [id, name]));
    this.fileGroupNames = new Map(file.snapshot.groups.map(({ id, name }) => [id, name]));
  }

  addGroup(group: { id: number; name: string } | null): void {
    if (group === null) throw new Error('a group of the file was made by another writer, under the lock');
    this.groupIds.set(group.name, group.id);
  }

  groupId(name: string | undefined): number {
    return requireId(this.groupIds.get(name ?? ''));
  }

  private userId(name: string | undefined): number {
    return requireId(this.userIds.get(name ?? ''));
  }

  mapMember(member: FileMember): GroupMember {
    return typeof member === 'string'
      ? { type: 'user', id: this.userId(member) }
      : { type: 'engine', name: member.engine };
  }

  mapPrincipal<P extends PolicyPrincipal>(principal: P): P {
    if (!hasId(principal)) return principal;
    const { type, id } = principal;
    return {
      ...principal,
      id: type === 'user' ? this.userId(this.fileUserNames.get(id)) : this.groupId(this.fileGroupNames.get(id)),
    };
  }

  mapNode(node: Node): Node {
    return mapPrincipal(node, (principal) => this.mapPrincipal(principal));
  }

  mapGuarantee({ principal, except, scopes, ...guarantee }: Guarantee): Guarantee {
    return {
      ...guarantee,
      principal: this.mapPrincipal(principal),
      except: except.map((principal) => this.mapPrincipal(principal)),
      scopes: scopes.map((scope) => ({ ...scope, resource: this.mapNode(scope.resource) })),
    };
  }

  mapPolicy(policy: SnapshotPolicy, description: string | null): NewPolicy {
    const rule = policyRule({
      ...policy,
      resource: { ...policy.resource, ...this.mapNode(policy.resource) },
      ...('privileges' in policy && { privileges: orderedPrivileges(policy.privileges) }),
    });
    const except = policy.except.map((principal) => this.mapPrincipal(principal));
    return { rule, principal: this.mapPrincipal(policy.principal), except, description };
  }
}

function requireId(id: number | undefined): number {
  if (id === undefined) throw new Error('a file was read that names what is not recorded');
  return id;
}
