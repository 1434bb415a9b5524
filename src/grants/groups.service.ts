import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { found, Refused } from '../kernel/errors.js';
import type { NamePageRequest, Page, PageRequest } from '../kernel/page.js';
import { Settings } from '../platform/settings/settings.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { type Group, type GroupChange, type GroupFilter, GroupStore, localGroup, type Member } from './domain/group.js';
import { GroupWritesService } from './group-writes.service.js';

/** Groups and their members, for administrators. */
@Injectable()
export class GroupsService {
  constructor(
    private readonly store: GroupStore,
    private readonly groups: GroupWritesService,
    private readonly admission: AdmissionService,
    private readonly writes: AccessWritesService,
    private readonly administrators: AdministratorsService,
    private readonly settings: Settings,
  ) {}

  /** @throws Refused `name_taken` */
  create(name: string, description: string | null, by: AuditContext): Promise<Group> {
    this.checkName(name);
    return this.writes.run(() => this.groups.create(localGroup(name, description), by));
  }

  /** @throws Refused `not_found`, `name_taken`; `managed_elsewhere` for the name of a group of the identity provider's */
  change(id: number, change: GroupChange, by: AuditContext): Promise<Group> {
    return this.writes.run(async () => {
      if (change.name !== undefined) {
        await this.checkLocal(id);
        this.checkName(change.name);
      }
      return this.groups.change(id, change, by);
    });
  }

  /** @throws Refused `not_found`, `group_in_use`, `managed_elsewhere` */
  delete(id: number, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      const group = await this.store.find(id);
      if (group !== null && this.isFollowed(group)) throw managedElsewhere(group);
      await this.groups.delete(id, by);
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

  /**
   * @throws Refused `not_found`, `managed_elsewhere`, `rules_too_large`, `rules_unprovable`; of an engine principal as
   * `GrantsService.grant` does
   */
  addMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      if (member.type === 'engine') await this.admission.admitPrincipals([{ field: 'member', named: member }]);
      if (await this.groups.addMembers(id, [member], by)) await this.admission.admitRules({ nodes: [], groups: [id] });
    });
  }

  /** @throws Refused `not_found`, `managed_elsewhere` */
  removeMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      await this.groups.removeMembers(id, [member], by);
    });
  }

  /** A group's source never changes. */
  private async checkLocal(id: number): Promise<void> {
    const group = await this.find(id);
    if (group.source !== 'local') throw managedElsewhere(group);
  }

  private checkName(name: string): void {
    if (this.administrators.isGroupName(name))
      throw new Refused('name_taken', { detail: `${name} ${GROUP_NAME_TAKEN}.` });
  }

  /** What a provider that is asked no more left behind can be deleted. */
  private isFollowed({ source }: Group): boolean {
    const { oidc, scim } = this.settings;
    return source === 'oidc' ? (oidc?.groupsClaim ?? null) !== null : source === 'scim' && scim.tokens.length > 0;
  }
}

function managedElsewhere({ name }: Group): Refused {
  const decides = `whether ${name} exists, how it is called and which members it has`;
  return new Refused('managed_elsewhere', { detail: `The identity provider decides ${decides}: change it there.` });
}
