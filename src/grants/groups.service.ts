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
import { type Group, type GroupChange, type GroupFilter, GroupStore, type Member } from './domain/group.js';

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
      const [group = null] = await this.store.create([{ name, description }], this.clock.now());
      if (group === null) throw nameTaken(name);
      await this.audit.record(groupEvent('group_created', group, by, { description }));
      return group;
    });
  }

  /** @throws Refused `not_found`, `name_taken` */
  change(id: number, change: GroupChange, by: AuditContext): Promise<Group> {
    return this.writes.run(async () => {
      const group = await this.store.change(id, change);
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
      if (outcome === 'in-use') {
        throw new Refused('group_in_use', {
          detail: 'A grant or a policy names this group: revoke or change it first.',
        });
      }
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

  /** @throws Refused `not_found`, `rules_too_large`, `rules_unprovable`; of an engine principal as `GrantsService.grant` does */
  addMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      if (member.type === 'engine') await this.admission.admitPrincipals([{ field: 'member', named: member }]);
      const [outcome] = await this.store.addMembers([{ groupId: id, member }], this.clock.now());
      if (outcome === 'missing') throw new Refused('not_found');
      if (outcome !== 'added') return;
      await this.admission.admitRules({ nodes: [], groups: [id] });
      await this.audit.record(groupEvent('member_added', await this.find(id), by, memberDetails(member)));
    });
  }

  /** @throws Refused `not_found` */
  removeMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      const [outcome] = await this.store.removeMembers([{ groupId: id, member }]);
      if (outcome === 'missing') throw new Refused('not_found');
      if (outcome === 'removed')
        await this.audit.record(groupEvent('member_removed', await this.find(id), by, memberDetails(member)));
    });
  }
}

function nameTaken(name: string): Refused {
  return new Refused('name_taken', { detail: `There is a group named ${name} already.` });
}
