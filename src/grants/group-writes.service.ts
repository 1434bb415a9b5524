import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { found, Refused } from '../kernel/errors.js';
import { AdministratorsService } from '../users/administrators.service.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { groupEvent, memberDetails } from './domain/audit-details.js';
import { type Group, type GroupChange, GroupStore, type GroupUse, type NewGroup } from './domain/group.js';

/** Changes of groups in the running transaction, each with its audit event and the roles that follow, whoever decides about the group. */
@Injectable()
export class GroupWritesService {
  constructor(
    private readonly store: GroupStore,
    private readonly administrators: AdministratorsService,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `name_taken` */
  async create(asked: NewGroup, by: AuditContext): Promise<Group> {
    const [group = null] = await this.store.create([asked], this.clock.now());
    if (group === null) throw nameTaken(asked.name);
    const { description, source, externalId } = asked;
    const details = source === 'local' ? { description } : { source, external_id: externalId };
    await this.audit.record(groupEvent('group_created', group, by, details));
    return group;
  }

  /** Nothing where another group has the name. */
  async createIfMissing(asked: NewGroup, by: AuditContext): Promise<void> {
    await this.create(asked, by).catch((error: unknown) => {
      if (!(error instanceof Refused && error.code === 'name_taken')) throw error;
    });
  }

  /** @throws Refused `not_found`, `name_taken` */
  async change(id: number, change: GroupChange, by: AuditContext): Promise<Group> {
    const group = await this.store.change(id, change, this.clock.now());
    if (group === 'missing') throw new Refused('not_found');
    if (group === 'name-taken') throw nameTaken(change.name ?? '');
    const { externalId, ...details } = change;
    const external = externalId === undefined ? {} : { external_id: externalId };
    await this.audit.record(groupEvent('group_changed', group, by, { ...details, ...external }));
    await this.administrators.follow(by);
    return group;
  }

  /** @throws Refused `not_found`, `group_in_use` */
  async delete(id: number, by: AuditContext): Promise<void> {
    const group = await this.store.find(id);
    const outcome = await this.store.delete(id, this.clock.now());
    if (outcome === 'missing') throw new Refused('not_found');
    if (typeof outcome === 'object') throw groupInUse(outcome.uses);
    if (outcome !== 'deleted' || group === null) return;
    await this.audit.record(groupEvent('group_deleted', group, by, {}));
    await this.administrators.follow(by);
  }

  /** @returns whether anybody was added. @throws Refused `not_found` for the group, or one of the members */
  async addMembers(id: number, members: readonly GroupMember[], by: AuditContext): Promise<boolean> {
    if (members.length === 0) return false;
    const asked = members.map((member) => ({ groupId: id, member }));
    const outcomes = await this.store.addMembers(asked, this.clock.now());
    return this.record('member_added', 'added', id, members, outcomes, by);
  }

  /** @returns whether anybody was removed. @throws Refused `not_found` for the group, or one of the members */
  async removeMembers(id: number, members: readonly GroupMember[], by: AuditContext): Promise<boolean> {
    if (members.length === 0) return false;
    const asked = members.map((member) => ({ groupId: id, member }));
    const outcomes = await this.store.removeMembers(asked, this.clock.now());
    return this.record('member_removed', 'removed', id, members, outcomes, by);
  }

  private async record<T extends string>(
    event: 'member_added' | 'member_removed',
    done: T,
    id: number,
    members: readonly GroupMember[],
    outcomes: readonly (T | 'missing' | 'was-member' | 'was-none')[],
    by: AuditContext,
  ): Promise<boolean> {
    if (outcomes.includes('missing')) throw new Refused('not_found');
    const changed = members.filter((_, i) => outcomes[i] === done);
    if (changed.length === 0) return false;
    const group = { id, name: found(await this.store.nameOf(id)) };
    await this.audit.recordAll(changed.map((member) => groupEvent(event, group, by, memberDetails(member))));
    await this.administrators.follow(by);
    return true;
  }
}

function nameTaken(name: string): Refused {
  return new Refused('name_taken', { detail: `There is a group named ${name} already.` });
}

function groupInUse(uses: readonly GroupUse[]): Refused {
  const named = uses.map(({ kind, id }) => `${kind} ${id}`).join(', ');
  return new Refused('group_in_use', { detail: `Named by ${named}: revoke or change them first.` });
}
