import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { AdministratorsService } from '../users/administrators.service.js';
import type { Principal } from '../trino-rules/model/principal.js';
import { groupEvent, memberDetails, revokedEvents } from './domain/audit-details.js';
import { ANY_GRANT, GrantStore } from './domain/grant.js';
import { GroupStore } from './domain/group.js';
import { EVERY_ROW } from './snapshot-writer.service.js';

/** Takes away all recorded access of an account that is gone for good. */
@Injectable()
export class PrincipalRemovalService {
  constructor(
    private readonly groups: GroupStore,
    private readonly grants: GrantStore,
    private readonly administrators: AdministratorsService,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Revokes its grants, those on acting as it and on its queries; takes it out of all groups. In the running transaction. */
  async remove(user: Principal & { type: 'user' }, by: AuditContext): Promise<void> {
    const now = this.clock.now();
    const everyRow = { limit: EVERY_ROW, after: null };
    for (const naming of [{ principal: user }, { named: user }]) {
      const named = await this.grants.list({ ...ANY_GRANT, ...naming, state: 'all' }, everyRow, now);
      const ids = named.items.flatMap(({ id, revokedAt }) => (revokedAt === null ? [id] : []));
      await this.audit.recordAll(revokedEvents(await this.grants.revoke(ids, by.actor?.id ?? null, now), by));
    }
    const { items } = await this.groups.list({ text: null, member: user }, everyRow);
    await this.groups.removeMembers(
      items.map(({ id }) => ({ groupId: id, member: user })),
      now,
    );
    await this.audit.recordAll(items.map((group) => groupEvent('member_removed', group, by, memberDetails(user))));
    await this.administrators.follow(by);
  }
}
