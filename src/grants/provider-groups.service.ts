import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { foldedName } from '../kernel/name.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { AccessWritesService } from './access-writes.service.js';
import { type Group, GroupStore } from './domain/group.js';
import { GroupWritesService } from './group-writes.service.js';
import { EVERY_ROW } from './snapshot-writer.service.js';

/** Memberships in groups of the source `oidc`, which follow what the identity provider says when people sign in. */
@Injectable()
export class ProviderGroupsService {
  constructor(
    private readonly store: GroupStore,
    private readonly groups: GroupWritesService,
    private readonly writes: AccessWritesService,
  ) {}

  /**
   * Makes the user a member of the groups of these names, which are made where there are none, and of no others of that source.
   * @param isCurrent whether that still is to be done; asked before groups are read, and again in the transaction, which then holds
   *   back others who ask
   * @returns the names that administrators or SCIM gave to a group, which nobody joins so
   * @throws Refused `busy`
   */
  async follow(
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
      // In one order, so that people who sign in at once do not wait in a circle.
      for (const name of settled.missing.toSorted()) {
        await this.groups.createIfMissing({ name, description: null, source: 'oidc', externalId: null }, by);
      }
      const { joins, leaves, taken } = await this.changes(member, names);
      for (const { id } of joins) await this.groups.addMembers(id, [member], by);
      for (const { id } of leaves) await this.groups.removeMembers(id, [member], by);
      return taken;
    });
  }

  private async changes(member: GroupMember, names: readonly string[]) {
    const named = await this.store.named(names);
    const { items } = await this.store.list({ text: null, member }, { limit: EVERY_ROW, after: null });
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
