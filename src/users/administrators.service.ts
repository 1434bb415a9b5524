import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { foldedName } from '../kernel/name.js';
import { singleFlight } from '../kernel/promises.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import { UserStore } from './user.store.js';
import type { AdministratorsGroup, RoleMismatch } from './domain/administrators.js';
import type { Role } from './domain/account.js';

/** How long a true result of `hasAny` is cached. Limited, because the provider's group or SQL can remove the last administrator. */
const CACHE_MS = 60_000;

/** Gives the members of the identity provider's group (AUTH_OIDC_ADMINISTRATORS_GROUP) the role of administrators. */
@Injectable()
export class AdministratorsService {
  private cachedUntil = 0;

  constructor(
    private readonly store: UserStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Gives the role to new members of the group, and takes it away from former ones. Must run in each transaction that changes groups. */
  async updateRoles(context: AuditContext): Promise<void> {
    await this.transaction.run(async () => {
      const { promotions, demotions } = await this.store.updateRoles(this.group);
      const auditEntries = [
        ...promotions.map((account) => this.roleChangedEntry(account, 'user', 'admin', context)),
        ...demotions.map((account) => this.roleChangedEntry(account, 'admin', 'user', context)),
      ];
      if (auditEntries.length > 0) await this.audit.recordAll(auditEntries);
    });
  }

  /** Whether the account is in AUTH_OIDC_ADMINISTRATORS_GROUP, which then decides the account's role. */
  async isMember(userId: number): Promise<boolean> {
    return this.group !== null && this.store.isInGroup(userId, this.group);
  }

  /** Whether a name is reserved for the provider's group. A local group of that name would prevent the provider's group from being created. */
  isGroupName(name: string): boolean {
    return this.group !== null && foldedName(this.group.name) === foldedName(name);
  }

  /** Whether there is an active administrator. True is cached for a minute, because unauthenticated requests call this. */
  async hasAny(): Promise<boolean> {
    return this.clock.now().getTime() < this.cachedUntil || this.readHasAny();
  }

  private readonly readHasAny = singleFlight(async () => {
    const isAnyActive = await this.store.hasActiveAdministrator();
    if (isAnyActive) this.cachedUntil = this.clock.now().getTime() + CACHE_MS;
    return isAnyActive;
  });

  private get group(): AdministratorsGroup | null {
    return this.settings.oidc?.administrators ?? null;
  }

  private roleChangedEntry(account: RoleMismatch, formerRole: Role, newRole: Role, context: AuditContext) {
    const details = { from: formerRole, to: newRole, group: this.group?.name ?? null };
    return { event: 'role_changed' as const, ...context, subject: userSubject(account), details };
  }
}
