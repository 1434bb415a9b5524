import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { foldedName } from '../kernel/name.js';
import { Settings } from '../platform/settings/settings.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { groupEvent, memberDetails, revocationEvents } from './domain/audit-details.js';
import { type Group, type GroupChange, localGroup, type NewGroup } from './domain/group.js';
import { GrantStore } from './grant.store.js';
import { GroupStore } from './group.store.js';
import { EVERY_ROW } from './snapshot-writer.service.js';

/** Changes groups of any source in the running transaction. Records audit events and updates the roles that follow from membership. */
@Injectable()
export class GroupWritesService {
  constructor(
    private readonly store: GroupStore,
    private readonly grants: GrantStore,
    private readonly administrators: AdministratorsService,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `name_taken` */
  async create(newGroup: NewGroup, context: AuditContext): Promise<Group> {
    const [group = null] = await this.store.create([newGroup], this.clock.now());
    if (group === null) throw nameTakenRefusal(newGroup.name);
    const { description, source, externalId } = newGroup;
    const details = source === 'local' ? { description } : { source, external_id: externalId };
    await this.audit.record(groupEvent('group_created', group, context, details));
    return group;
  }

  async createIfMissing(newGroup: NewGroup, context: AuditContext): Promise<void> {
    await this.create(newGroup, context).catch((error: unknown) => {
      if (!(error instanceof Refused && error.code === 'name_taken')) throw error;
    });
  }

  /** @throws Refused `not_found`, `name_taken` */
  async change(id: number, change: GroupChange, context: AuditContext): Promise<Group> {
    const group = await this.store.change(id, change, this.clock.now());
    if (group === 'missing') throw new Refused('not_found');
    if (group === 'name-taken') throw nameTakenRefusal(change.name ?? '');
    const { externalId, ...details } = change;
    const externalIdDetail = externalId === undefined ? {} : { external_id: externalId };
    await this.audit.record(groupEvent('group_changed', group, context, { ...details, ...externalIdDetail }));
    await this.administrators.updateRoles(context);
    return group;
  }

  /** @throws Refused `not_found`, `group_in_use` */
  async delete(id: number, context: AuditContext): Promise<void> {
    const group = await this.store.find(id);
    const outcome = await this.store.delete(id, this.clock.now());
    if (outcome === 'missing') throw new Refused('not_found');
    if (typeof outcome === 'object') {
      const usesText = outcome.uses.map(({ kind, id: useId }) => `${kind} ${useId}`).join(', ');
      throw new Refused('group_in_use', { detail: `Named by ${usesText}: revoke or change them first.` });
    }
    if (outcome !== 'deleted' || group === null) return;
    await this.audit.record(groupEvent('group_deleted', group, context, {}));
    await this.administrators.updateRoles(context);
  }

  /** Adds or removes members. @returns whether anything changed. @throws Refused `not_found` for the group or a member */
  async moveMembers(
    event: 'member_added' | 'member_removed',
    id: number,
    members: readonly GroupMember[],
    context: AuditContext,
  ): Promise<boolean> {
    if (members.length === 0) return false;
    const [memberships, now] = [members.map((member) => ({ groupId: id, member })), this.clock.now()];
    const outcomes = await (event === 'member_added'
      ? this.store.addMembers(memberships, now)
      : this.store.removeMembers(memberships, now));
    if (outcomes.includes(null)) throw new Refused('not_found');
    const changedMembers = members.filter((_, i) => outcomes[i] === true);
    if (changedMembers.length === 0) return false;
    const group = { id, name: orNotFound(await this.store.nameOf(id)) };
    await this.audit.recordAll(changedMembers.map((each) => groupEvent(event, group, context, memberDetails(each))));
    await this.administrators.updateRoles(context);
    return true;
  }

  /** Removes a deleted account from all groups. Revokes the grants to it, those to impersonate it and those on its queries. */
  async removeAccount(user: GroupMember & { type: 'user' }, context: AuditContext): Promise<void> {
    const ids = await this.grants.grantsNaming(user);
    const outcomes = await this.grants.revoke(ids, context.actor?.id ?? null, this.clock.now());
    await this.audit.recordAll(revocationEvents(outcomes, context));
    const { items } = await this.store.list({ member: user }, { limit: EVERY_ROW, after: null });
    for (const { id } of items) await this.moveMembers('member_removed', id, [user], context);
  }
}

function nameTakenRefusal(name: string): Refused {
  return new Refused('name_taken', { detail: `There is a group named ${name} already.` });
}

/** Changes groups and their members, on requests of administrators and by the groups of the identity provider. */
@Injectable()
export class GroupsService {
  constructor(
    private readonly store: GroupStore,
    private readonly groups: GroupWritesService,
    private readonly admission: AdmissionService,
    private readonly accessWrites: AccessWritesService,
    private readonly administrators: AdministratorsService,
    private readonly settings: Settings,
  ) {}

  /** @throws Refused `name_taken` */
  create(name: string, description: string | null, context: AuditContext): Promise<Group> {
    this.checkName(name);
    return this.accessWrites.run(() => this.groups.create(localGroup(name, description), context));
  }

  /** @throws Refused `not_found`, `name_taken`; `managed_elsewhere` for the name of a group of the identity provider */
  change(id: number, change: GroupChange, context: AuditContext): Promise<Group> {
    return this.accessWrites.run(async () => {
      if (change.name !== undefined) {
        await this.refuseManagedGroup(id);
        this.checkName(change.name);
      }
      return this.groups.change(id, change, context);
    });
  }

  /** @throws Refused `not_found`, `group_in_use`, `managed_elsewhere` */
  delete(id: number, context: AuditContext): Promise<void> {
    return this.accessWrites.run(async () => {
      const group = await this.store.find(id);
      if (group !== null && this.isManagedByProvider(group)) throw managedElsewhereRefusal(group);
      await this.groups.delete(id, context);
    });
  }

  /**
   * @throws Refused `not_found`, `managed_elsewhere`, and the refusals of `AdmissionService.admitRules`; for an engine principal also
   * those of `AdmissionService.admitPrincipals`
   */
  addMember(id: number, member: GroupMember, context: AuditContext): Promise<void> {
    return this.accessWrites.run(async () => {
      await this.refuseManagedGroup(id);
      if (member.type === 'engine') await this.admission.admitPrincipals([{ field: 'member', value: member }]);
      if (await this.groups.moveMembers('member_added', id, [member], context))
        await this.admission.admitRules({ nodes: [], groups: [id], mayJoinEveryone: member.type === 'engine' });
    });
  }

  /** @throws Refused `not_found`, `managed_elsewhere`, `guarantee_broken` */
  removeMember(id: number, member: GroupMember, context: AuditContext): Promise<void> {
    return this.accessWrites.run(async () => {
      await this.refuseManagedGroup(id);
      // Guarantees are checked, because the group's restrictions, and its exceptions from guarantees, no longer apply to the former member.
      if (await this.groups.moveMembers('member_removed', id, [member], context))
        await this.admission.admitGuarantees({ nodes: [], groups: [id], isLeaving: true });
    });
  }

  /** Refuses a group of the identity provider. Needs no lock, because a group's source never changes. */
  private async refuseManagedGroup(id: number): Promise<void> {
    const group = orNotFound(await this.store.find(id));
    if (group.source !== 'local') throw managedElsewhereRefusal(group);
  }

  private checkName(name: string): void {
    if (this.administrators.isGroupName(name))
      throw new Refused('name_taken', { detail: `${name} ${GROUP_NAME_TAKEN}.` });
  }

  /** Whether the settings still let the identity provider manage a group. A group of a disabled provider can be deleted. */
  private isManagedByProvider({ source }: Group): boolean {
    const { oidc, scim } = this.settings;
    return source === 'oidc' ? (oidc?.groupsClaim ?? null) !== null : source === 'scim' && scim.tokens.length > 0;
  }

  /**
   * Makes the user a member of exactly the groups with these names and the source `oidc`. Creates missing groups.
   * @param mustStillChange whether the memberships still have to change. Called before the transaction and again in it. The second call must
   *   take a lock, so that concurrent calls for the user wait
   * @returns names of local and SCIM groups among `names`; the user does not join these groups
   * @throws Refused `busy`
   */
  async setOidcMemberships(
    userId: number,
    names: readonly string[],
    context: AuditContext,
    mustStillChange: () => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<string[]> {
    if (!(await mustStillChange())) return [];
    const member: GroupMember = { type: 'user', id: userId };
    const plan = await this.membershipChanges(member, names);
    if (plan.missingNames.length + plan.joinedGroups.length + plan.leftGroups.length === 0) return plan.takenNames;
    return this.accessWrites.run(async () => {
      if (!(await mustStillChange())) return [];
      // The names are sorted, so that concurrent sign-ins lock in the same order and do not deadlock.
      for (const name of plan.missingNames.toSorted()) {
        await this.groups.createIfMissing({ name, description: null, source: 'oidc', externalId: null }, context);
      }
      const { joinedGroups, leftGroups, takenNames } = await this.membershipChanges(member, names);
      for (const { id } of joinedGroups) await this.groups.moveMembers('member_added', id, [member], context);
      for (const { id } of leftGroups) await this.groups.moveMembers('member_removed', id, [member], context);
      return takenNames;
    });
  }

  private async membershipChanges(member: GroupMember, names: readonly string[]) {
    const foundGroups = await this.store.findByNames(names);
    const { items } = await this.store.list({ member }, { limit: EVERY_ROW, after: null });
    const currentGroups = items.filter(({ source }) => source === 'oidc');
    const targetGroups = foundGroups.filter(({ name, source }) => source === 'oidc' && names.includes(name));
    const foundNames = new Set(foundGroups.map(({ name }) => foldedName(name)));
    const isAmong = (groups: readonly Group[]) => (group: Group) => groups.some(({ id }) => id === group.id);
    const unmatchedNames = names.filter((name) => !targetGroups.some((group) => group.name === name));
    return {
      joinedGroups: targetGroups.filter((group) => !isAmong(currentGroups)(group)),
      leftGroups: currentGroups.filter((group) => !isAmong(targetGroups)(group)),
      missingNames: unmatchedNames.filter((name) => !foundNames.has(foldedName(name))),
      takenNames: unmatchedNames.filter((name) => foundNames.has(foldedName(name))),
    };
  }
}

function managedElsewhereRefusal({ name }: Group): Refused {
  const factsText = `whether ${name} exists, how it is called and which members it has`;
  return new Refused('managed_elsewhere', { detail: `The identity provider decides ${factsText}: change it there.` });
}
