import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext, AuditEntry } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { type Node, withNamed } from '../trino-rules/model/node.js';
import { type GroupMember, hasId, type PolicyPrincipal } from '../trino-rules/model/principal.js';
import { orderedPrivileges } from '../trino-rules/model/privilege.js';
import type { Guarantee } from '../trino-rules/model/guarantee.js';
import type { SnapshotPolicy } from '../trino-rules/model/snapshot.js';
import { grantedEvents, groupEvent, memberDetails, policyEvent, revokedEvents } from './domain/audit-details.js';
import { localGroup, type Membership } from './domain/group.js';
import { type NewPolicy, policyRule } from './domain/policy.js';
import type { DescribedSnapshot, FileMember, SnapshotChanges } from './domain/snapshot-changes.js';
import type { Touched } from './domain/snapshot-store.js';
import { GrantStore } from './grant.store.js';
import { GroupStore } from './group.store.js';
import { GuaranteeStore } from './guarantee.store.js';
import { PolicyStore } from './policy.store.js';

export interface Written {
  /** Nodes and groups for admission to judge; empty where access was only taken away. */
  touched: { nodes: Touched['nodes'][number][]; groups: number[] };
  /** Ids of written policies, by their ids in the file. */
  policies: Map<number, number>;
  guarantees: Guarantee[];
}

/** The changes to write, with the state before and after them. */
interface SnapshotWrite {
  changes: SnapshotChanges;
  recorded: DescribedSnapshot;
  file: DescribedSnapshot;
}

type Writing = SnapshotWrite & { ids: RecordedIds; written: Written; by: AuditContext; report: ReportProgress };

/** Called with the progress so far: `5000 of 100000 grants written`. */
export type ReportProgress = (progress: string) => void;

/** Rows of one statement, which must end long before the statement timeout. */
const CHUNK = 1_000;

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

  /** In the running transaction, which has locked out other writers. */
  async write(write: SnapshotWrite, by: AuditContext, report: ReportProgress): Promise<Written> {
    const ids = new RecordedIds(write.recorded, write.file);
    const written: Written = { touched: { nodes: [], groups: [] }, policies: new Map(), guarantees: [] };
    const writing = { ...write, ids, written, by, report };
    await this.writeGroups(writing);
    await this.writeGrants(writing);
    await this.writePolicies(writing);
    await this.writeGuarantees(writing);
    // Groups are deleted last, when nothing names them any more.
    const gone = write.changes.groups.flatMap(({ before, after }) => (after === null && before ? [before] : []));
    for (const chunk of chunks(gone, 'groups removed', report))
      for (const group of chunk) await this.deleteGroup(group, by);
    return written;
  }

  private async writeGroups({ changes, recorded, file, ids, written, by, report }: Writing): Promise<void> {
    const now = this.clock.now();
    const events: AuditEntry[] = [];
    const kept = changes.groups.flatMap(({ after, ...change }) => (after === null ? [] : [{ after, ...change }]));
    const descriptionOf = (id: number): string | null => file.descriptions.groups.get(id) ?? null;
    const made = kept.flatMap(({ before, after: { id, name } }) =>
      before === null ? [localGroup(name, descriptionOf(id))] : [],
    );
    for (const chunk of chunks(made, 'groups written', report))
      for (const group of await this.groups.create(chunk, now)) ids.addGroup(group);

    const added: Membership[] = [];
    const removed: Membership[] = [];
    for (const { before, after, addedMembers, removedMembers } of kept) {
      const group = { id: ids.groupId(after.name), name: after.name };
      const description = descriptionOf(after.id);
      if (before === null) events.push(groupEvent('group_created', group, by, { description }));
      else if (description !== (recorded.descriptions.groups.get(before.id) ?? null)) {
        await this.groups.change(group.id, { description }, now);
        events.push(groupEvent('group_changed', group, by, { description }));
      }
      for (const [listed, members, event] of [
        [addedMembers, added, 'member_added'],
        [removedMembers, removed, 'member_removed'],
      ] as const) {
        for (const member of listed.map((one) => ids.mapMember(one))) {
          members.push({ groupId: group.id, member });
          events.push(groupEvent(event, group, by, memberDetails(member)));
        }
      }
      if (addedMembers.length > 0) written.touched.groups.push(group.id);
    }
    for (const chunk of chunks(added, 'members added', report)) await this.groups.addMembers(chunk, now);
    for (const chunk of chunks(removed, 'members removed', report)) await this.groups.removeMembers(chunk, now);
    for (const chunk of chunks(events, 'audit events written', report)) await this.audit.recordAll(chunk);
  }

  private async writeGrants({ changes, file, ids, written, by, report }: Writing): Promise<void> {
    const replaced = changes.grants.flatMap(({ before }) => before?.id ?? []);
    for (const chunk of chunks(replaced, 'grants revoked', report)) await this.revoke(chunk, by);
    const asked = changes.grants.flatMap(({ after }) => after ?? []);
    for (const chunk of chunks(asked, 'grants written', report)) {
      const rows = chunk.map(({ id, principal, resource, privileges, expiresAt }) => ({
        ...{ principal: ids.mapPrincipal(principal), resource: ids.mapNode(resource), expiresAt },
        privileges: orderedPrivileges(privileges),
        description: file.descriptions.grants.get(id) ?? null,
      }));
      const outcomes = await this.grants.grant(rows, by.actor?.id ?? null, this.clock.now());
      await this.audit.recordAll(grantedEvents(outcomes, by));
      written.touched.nodes.push(...chunk.map(({ resource }) => resource));
    }
  }

  private async writePolicies({ changes, file, ids, written, by, report }: Writing): Promise<void> {
    const now = this.clock.now();
    for (const chunk of chunks(changes.policies, 'policies written', report)) {
      const events: AuditEntry[] = [];
      for (const { before, after } of chunk) {
        if (after === null) {
          const removed = before && (await this.policies.remove(before.id, now));
          if (removed !== null && typeof removed === 'object') events.push(policyEvent('policy_deleted', removed, by));
          continue;
        }
        const asked = ids.mapPolicy(after, file.descriptions.policies.get(after.id) ?? null);
        const replaced = before && (await this.policies.replace(before.id, asked, now));
        if (before !== null && replaced === null) throw new Error('a policy changed under its lock');
        const policy = replaced?.policy ?? (await this.policies.create(asked, now));
        events.push(policyEvent(before === null ? 'policy_created' : 'policy_changed', policy, by));
        written.policies.set(after.id, policy.id);
        written.touched.nodes.push(after.resource);
      }
      await this.audit.recordAll(events);
    }
  }

  private async writeGuarantees({ changes, file, ids, written, by }: Writing): Promise<void> {
    const now = this.clock.now();
    for (const { before, after } of changes.guarantees) {
      const { id = 0 } = before ?? {};
      if (after === null) {
        await this.guarantees.remove(id, by, now);
        continue;
      }
      const description = file.descriptions.guarantees.get(after.id) ?? null;
      const replaced = await this.guarantees.write({ ...ids.mapGuarantee(after), id }, description, by, now);
      if (replaced === null) throw new Error('a guarantee changed under its lock');
      written.guarantees.push(replaced.recorded.guarantee);
    }
  }

  private async revoke(ids: readonly number[], by: AuditContext): Promise<void> {
    const outcomes = await this.grants.revoke(ids, by.actor?.id ?? null, this.clock.now());
    await this.audit.recordAll(revokedEvents(outcomes, by));
  }

  /** Expired grants name the group until they are revoked. */
  private async deleteGroup({ id, name }: { id: number; name: string }, by: AuditContext): Promise<void> {
    await this.revoke(await this.grants.grantsNaming({ type: 'group', id }), by);
    const outcome = await this.groups.delete(id, this.clock.now());
    if (outcome !== 'deleted') throw new Error(`the group ${name} cannot be deleted under its lock`);
    await this.audit.record(groupEvent('group_deleted', { id, name }, by, {}));
  }
}

/** A page size that includes every row: the page queries add 1, and PostgreSQL's integer must hold the sum. */
export const EVERY_ROW = 2 ** 31 - 2;

/** Reports progress when the loop asks for the next chunk, because by then it has written the present one. */
export function* chunks<T>(rows: readonly T[], written: string, report: ReportProgress): Generator<T[]> {
  for (let start = 0; start < rows.length; start += CHUNK) {
    const chunk = rows.slice(start, start + CHUNK);
    yield chunk;
    report(`${start + chunk.length} of ${rows.length} ${written}`);
  }
}

/** Translates the file's ids of users and groups to the database's. */
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

  /** Adds a created group; null (its name was taken) is a fault. */
  addGroup(made: { id: number; name: string } | null): void {
    if (made === null) throw new Error('a group of the file was made by another writer, under the lock');
    this.groups.set(made.name, made.id);
  }

  groupId(name: string | undefined): number {
    return present(this.groups.get(name ?? ''));
  }

  private userId(name: string | undefined): number {
    return present(this.users.get(name ?? ''));
  }

  mapMember(member: FileMember): GroupMember {
    return typeof member === 'string'
      ? { type: 'user', id: this.userId(member) }
      : { type: 'engine', name: member.engine };
  }

  mapPrincipal<P extends PolicyPrincipal>(named: P): P {
    if (!hasId(named)) return named;
    const { type, id } = named;
    return {
      ...named,
      id: type === 'user' ? this.userId(this.fileUsers.get(id)) : this.groupId(this.fileGroups.get(id)),
    };
  }

  mapNode(node: Node): Node {
    return withNamed(node, (named) => this.mapPrincipal(named));
  }

  mapGuarantee({ principal, except, scopes, ...guarantee }: Guarantee): Guarantee {
    return {
      ...guarantee,
      principal: this.mapPrincipal(principal),
      except: except.map((named) => this.mapPrincipal(named)),
      scopes: scopes.map((scope) => ({ ...scope, resource: this.mapNode(scope.resource) })),
    };
  }

  mapPolicy(policy: SnapshotPolicy, description: string | null): NewPolicy {
    const rule = policyRule({
      ...policy,
      resource: { ...policy.resource, ...this.mapNode(policy.resource) },
      ...('privileges' in policy && { privileges: orderedPrivileges(policy.privileges) }),
    });
    const except = policy.except.map((named) => this.mapPrincipal(named));
    return { rule, principal: this.mapPrincipal(policy.principal), except, description };
  }
}

function present(id: number | undefined): number {
  if (id === undefined) throw new Error('a file was read that names what is not recorded');
  return id;
}
