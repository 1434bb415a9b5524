import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { found, Refused } from '../kernel/errors.js';
import type { NamePageRequest, Page, PageRequest } from '../kernel/page.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { groupEvent, memberDetails } from './domain/audit-details.js';
import {
  type Group,
  type GroupChange,
  type GroupFilter,
  GroupStore,
  type GroupUse,
  localGroup,
  type Member,
} from './domain/group.js';

/** Groups and their members. */
@Injectable()
export class GroupsService {
  constructor(
    private readonly store: GroupStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `name_taken` */
  create(name: string, description: string | null, by: AuditContext): Promise<Group> {
    return this.writes.run(async () => {
      const [group = null] = await this.store.create([localGroup(name, description)], this.clock.now());
      if (group === null) throw nameTaken(name);
      await this.audit.record(groupEvent('group_created', group, by, { description }));
      return group;
    });
  }

  /** @throws Refused `not_found`, `name_taken`; `managed_elsewhere` for the name of a group of the identity provider's */
  change(id: number, change: GroupChange, by: AuditContext): Promise<Group> {
    return this.writes.run(async () => {
      if (change.name !== undefined) await this.checkLocal(id);
      const group = await this.store.change(id, change, this.clock.now());
      if (group === 'missing') throw new Refused('not_found');
      if (group === 'name-taken') throw nameTaken(change.name ?? '');
      await this.audit.record(groupEvent('group_changed', group, by, { ...change }));
      return group;
    });
  }

  /** @throws Refused `not_found`, `group_in_use` */
  delete(id: number, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      const group = await this.store.find(id);
      const outcome = await this.store.delete(id, this.clock.now());
      if (outcome === 'missing') throw new Refused('not_found');
      if (typeof outcome === 'object') throw groupInUse(outcome.uses);
      if (outcome === 'deleted' && group !== null) await this.audit.record(groupEvent('group_deleted', group, by, {}));
    });
  }

  /** @throws Refused `not_found` */
  async find(id: number): Promise<Group> {
    return found(await this.store.find(id));
  }

  list(filter: GroupFilter, page: PageRequest): Promise<Page<Group>> {
    return this.store.list(filter, page);
  }

  /** @throws Refused `not_found` */
  async members(id: number, page: NamePageRequest): Promise<Page<Member>> {
    return found(await this.store.members(id, page));
  }

  /** @throws Refused `not_found`, `managed_elsewhere`, `rules_too_large`, `rules_unprovable`; of an engine principal as `GrantsService.grant` does */
  addMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      if (member.type === 'engine') await this.admission.admitPrincipals([{ field: 'member', named: member }]);
      const [outcome] = await this.store.addMembers([{ groupId: id, member }], this.clock.now());
      if (outcome === 'missing') throw new Refused('not_found');
      if (outcome !== 'added') return;
      await this.admission.admitRules({ nodes: [], groups: [id] });
      await this.audit.record(groupEvent('member_added', await this.find(id), by, memberDetails(member)));
    });
  }

  /** @throws Refused `not_found`, `managed_elsewhere` */
  removeMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      const [outcome] = await this.store.removeMembers([{ groupId: id, member }], this.clock.now());
      if (outcome === 'missing') throw new Refused('not_found');
      if (outcome === 'removed')
        await this.audit.record(groupEvent('member_removed', await this.find(id), by, memberDetails(member)));
    });
  }

  /** A group's source never changes. */
  private async checkLocal(id: number): Promise<void> {
    const { name, source } = await this.find(id);
    if (source === 'local') return;
    const detail = `The identity provider decides how ${name} is called and which members it has: change it there.`;
    throw new Refused('managed_elsewhere', { detail });
  }
}

function nameTaken(name: string): Refused {
  return new Refused('name_taken', { detail: `There is a group named ${name} already.` });
}

function groupInUse(uses: readonly GroupUse[]): Refused {
  const named = uses.map(({ kind, id }) => `${kind} ${id}`).join(', ');
  return new Refused('group_in_use', { detail: `Named by ${named}: revoke or change them first.` });
}
