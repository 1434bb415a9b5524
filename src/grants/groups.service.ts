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
import { groupEvent, memberDetails, revokedEvents } from './domain/audit-details.js';
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
  async create(asked: NewGroup, by: AuditContext): Promise<Group> {
    const [group = null] = await this.store.create([asked], this.clock.now());
    if (group === null) throw nameTaken(asked.name);
    const { description, source, externalId } = asked;
    const details = source === 'local' ? { description } : { source, external_id: externalId };
    await this.audit.record(groupEvent('group_created', group, by, details));
    return group;
  }

  /** Creates a group unless another one has the name. */
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
    await this.administrators.updateRoles(by);
    return group;
  }

  /** @throws Refused `not_found`, `group_in_use` */
  async delete(id: number, by: AuditContext): Promise<void> {
    const group = await this.store.find(id);
    const outcome = await this.store.delete(id, this.clock.now());
    if (outcome === 'missing') throw new Refused('not_found');
    if (typeof outcome === 'object') {
      const named = outcome.uses.map(({ kind, id: use }) => `${kind} ${use}`).join(', ');
      throw new Refused('group_in_use', { detail: `Named by ${named}: revoke or change them first.` });
    }
    if (outcome !== 'deleted' || group === null) return;
    await this.audit.record(groupEvent('group_deleted', group, by, {}));
    await this.administrators.updateRoles(by);
  }

  /** Adds or removes members. @returns whether anything changed. @throws Refused `not_found` for the group or a member */
  async moveMembers(
    event: 'member_added' | 'member_removed',
    id: number,
    members: readonly GroupMember[],
    by: AuditContext,
  ): Promise<boolean> {
    if (members.length === 0) return false;
    const [asked, now] = [members.map((member) => ({ groupId: id, member })), this.clock.now()];
    const outcomes = await (event === 'member_added'
      ? this.store.addMembers(asked, now)
      : this.store.removeMembers(asked, now));
    if (outcomes.includes(null)) throw new Refused('not_found');
    const changed = members.filter((_, i) => outcomes[i] === true);
    if (changed.length === 0) return false;
    const group = { id, name: orNotFound(await this.store.nameOf(id)) };
    await this.audit.recordAll(changed.map((member) => groupEvent(event, group, by, memberDetails(member))));
    await this.administrators.updateRoles(by);
    return true;
  }

  /** Revokes the grants to an account that is gone for good, and those to impersonate it or on its queries; removes it from all groups. */
  async removeAccount(user: GroupMember & { type: 'user' }, by: AuditContext): Promise<void> {
    const ids = await this.grants.grantsNaming(user);
    const outcomes = await this.grants.revoke(ids, by.actor?.id ?? null, this.clock.now());
    await this.audit.recordAll(revokedEvents(outcomes, by));
    const { items } = await this.store.list({ member: user }, { limit: EVERY_ROW, after: null });
    for (const { id } of items) await this.moveMembers('member_removed', id, [user], by);
  }
}

function nameTaken(name: string): Refused {
  return new Refused('name_taken', { detail: `There is a group named ${name} already.` });
}

/** Groups and their members, changed by administrators or following the identity provider. */
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

  /** @throws Refused `not_found`, `name_taken`; `managed_elsewhere` for the name of a group of the identity provider */
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

  /**
   * @throws Refused `not_found`, `managed_elsewhere`, and the refusals of `AdmissionService.admitRules`; for an engine principal also
   * those of `GrantsService.grant`
   */
  addMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      if (member.type === 'engine') await this.admission.admitPrincipals([{ field: 'member', named: member }]);
      if (await this.groups.moveMembers('member_added', id, [member], by))
        await this.admission.admitRules({ nodes: [], groups: [id], mayJoinEveryone: member.type === 'engine' });
    });
  }

  /** @throws Refused `not_found`, `managed_elsewhere`, `guarantee_broken` */
  removeMember(id: number, member: GroupMember, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.checkLocal(id);
      // An exception of a guarantee may end, or a restriction.
      if (await this.groups.moveMembers('member_removed', id, [member], by))
        await this.admission.admitGuarantees({ nodes: [], groups: [id], isLeaving: true });
    });
  }

  /** Refuses a group of the identity provider. Needs no lock, because a group's source never changes. */
  private async checkLocal(id: number): Promise<void> {
    const group = orNotFound(await this.store.find(id));
    if (group.source !== 'local') throw managedElsewhere(group);
  }

  private checkName(name: string): void {
    if (this.administrators.isGroupName(name))
      throw new Refused('name_taken', { detail: `${name} ${GROUP_NAME_TAKEN}.` });
  }

  /** Whether the settings still let the identity provider manage a group. A group of a disabled provider can be deleted. */
  private isFollowed({ source }: Group): boolean {
    const { oidc, scim } = this.settings;
    return source === 'oidc' ? (oidc?.groupsClaim ?? null) !== null : source === 'scim' && scim.tokens.length > 0;
  }

  /**
   * Makes the user a member of exactly the groups with the source `oidc` that have these names, and creates missing ones.
   * @param isCurrent whether the change is still due; called before groups are read, and again in the transaction, where it also locks
   *   out concurrent callers
   * @returns names that belong to a local or SCIM group, which the user does not join
   * @throws Refused `busy`
   */
  async setOidcMemberships(
    userId: number,
    names: readonly string[],
    by: AuditContext,
    isCurrent: () => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<string[]> {
    if (!(await isCurrent())) return [];
    const member: GroupMember = { type: 'user', id: userId };
    const settled = await this.changes(member, names);
    if (settled.missing.length + settled.joins.length + settled.leaves.length === 0) return settled.taken;
    return this.writes.run(async () => {
      if (!(await isCurrent())) return [];
      // One order for all, so that concurrent sign-ins do not deadlock.
      for (const name of settled.missing.toSorted()) {
        await this.groups.createIfMissing({ name, description: null, source: 'oidc', externalId: null }, by);
      }
      const { joins, leaves, taken } = await this.changes(member, names);
      for (const { id } of joins) await this.groups.moveMembers('member_added', id, [member], by);
      for (const { id } of leaves) await this.groups.moveMembers('member_removed', id, [member], by);
      return taken;
    });
  }

  private async changes(member: GroupMember, names: readonly string[]) {
    const named = await this.store.findNamed(names);
    const { items } = await this.store.list({ member }, { limit: EVERY_ROW, after: null });
    const own = items.filter(({ source }) => source === 'oidc');
    const meant = named.filter(({ name, source }) => source === 'oidc' && names.includes(name));
    const isIn = (groups: readonly Group[]) => (group: Group) => groups.some(({ id }) => id === group.id);
    const taken = names.filter((name) => !meant.some((group) => group.name === name));
    return {
      joins: meant.filter((group) => !isIn(own)(group)),
      leaves: own.filter((group) => !isIn(meant)(group)),
      missing: taken.filter((name) => !named.some((group) => foldedName(group.name) === foldedName(name))),
      taken: taken.filter((name) => named.some((group) => foldedName(group.name) === foldedName(name))),
    };
  }
}

function managedElsewhere({ name }: Group): Refused {
  const decides = `whether ${name} exists, how it is called and which members it has`;
  return new Refused('managed_elsewhere', { detail: `The identity provider decides ${decides}: change it there.` });
}
