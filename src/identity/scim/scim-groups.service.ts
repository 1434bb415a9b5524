import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { AccessWritesService } from '../../grants/access-writes.service.js';
import { GroupWritesService } from '../../grants/groups.service.js';
import { found } from '../../kernel/errors.js';
import { firstNames } from '../../kernel/name.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import {
  attributesAfter,
  type GroupChange,
  joining,
  membershipAfter,
  type ScimGroup,
  touched,
  wholeGroup,
} from './domain/group-changes.js';
import { integerId, invalid, shown } from './domain/values.js';
import { ScimGroupStore } from './scim.store.js';
import type { VersionCheck } from './scim-request.js';

/** Creates, changes and deletes groups by SCIM. */
@Injectable()
export class ScimGroupsService {
  constructor(
    private readonly store: ScimGroupStore,
    private readonly groups: GroupWritesService,
    private readonly writes: AccessWritesService,
  ) {}

  /** @throws Refused `not_found` */
  async find(id: number, withMembers: boolean): Promise<ScimGroup> {
    return found(await this.store.find(id, withMembers));
  }

  /** @returns the new group's id. @throws Refused 400; `name_taken` */
  create(body: unknown, by: AuditContext): Promise<number> {
    const changes = wholeGroup(body, null);
    return this.writes.run(async () => {
      await this.checkJoining(changes);
      const { name = '', externalId = null } = attributesAfter(changes);
      const { id } = await this.groups.create({ name, externalId, description: null, source: 'scim' }, by);
      await this.groups.moveMembers('member_added', id, asMembers(membershipAfter(changes, []).added), by);
      return id;
    });
  }

  /** @throws Refused `not_found`; `group_in_use`, with the grants and policies that name the group */
  async delete(id: number, check: VersionCheck<ScimGroup>, by: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      check(found(await this.store.lock(id)));
      await this.groups.delete(id, by);
    });
  }

  /**
   * Locks a group and changes it, so that changes are serialized. Writes only rows that change.
   * @throws Refused 400, `not_found`, `name_taken`
   */
  change(id: number, changes: readonly GroupChange[], check: VersionCheck<ScimGroup>, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.find(id, false);
      // Users are locked before groups, as in the deletion of a user, to prevent deadlocks.
      await this.checkJoining(changes);
      const group = found(await this.store.lock(id));
      check(group);
      const { name = group.name, externalId = group.externalId } = attributesAfter(changes);
      if (name !== group.name || externalId !== group.externalId) {
        await this.groups.change(id, { name, externalId }, by);
      }
      const among = touched(changes);
      const present = await this.store.members(id, among === null ? null : among.flatMap(userId));
      const { added, removed } = membershipAfter(changes, present.map(String));
      await this.groups.moveMembers('member_added', id, asMembers(added), by);
      await this.groups.moveMembers('member_removed', id, asMembers(removed), by);
    });
  }

  private async checkJoining(changes: readonly GroupChange[]): Promise<void> {
    const ids = joining(changes);
    const known = ids.length === 0 ? new Set() : await this.store.users(ids.flatMap(userId));
    const unknown = ids.filter((id) => !userId(id).some((each) => known.has(each)));
    if (unknown.length === 0) return;
    throw invalid('invalidValue', `There are no such users: ${firstNames(unknown.map(shown), SHOWN)}.`);
  }
}

const SHOWN = 10;

function userId(text: string): number[] {
  return [integerId(text) ?? []].flat();
}

function asMembers(ids: readonly string[]): GroupMember[] {
  return ids.flatMap(userId).map((id) => ({ type: 'user', id }));
}
