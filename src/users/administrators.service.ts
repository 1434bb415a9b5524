import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { Settings } from '../platform/settings.js';
import { Transaction } from '../platform/transaction.js';
import { AdministratorStore, type AdministratorsGroup, type OutdatedRole } from './domain/administrators.js';
import type { Role } from './domain/account.js';

/** Administrators by the identity provider's group (AUTH_OIDC_ADMINISTRATORS_GROUP). */
@Injectable()
export class AdministratorsService {
  constructor(
    private readonly store: AdministratorStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly settings: Settings,
  ) {}

  /** Gives and takes roles; to be called in the transaction of each change of members or of groups' names. */
  async follow(by: AuditContext): Promise<void> {
    await this.transaction.run(async () => {
      const { promoted, demoted } = await this.store.follow(this.group);
      const entries = [
        ...promoted.map((account) => this.event(account, 'user', 'admin', by)),
        ...demoted.map((account) => this.event(account, 'admin', 'user', by)),
      ];
      if (entries.length > 0) await this.audit.recordAll(entries);
    });
  }

  /** Whether the account is in the group, which then decides about its role. */
  async isMember(userId: number): Promise<boolean> {
    return this.group !== null && this.store.isMember(userId, this.group);
  }

  private get group(): AdministratorsGroup | null {
    return this.settings.oidc?.administrators ?? null;
  }

  private event(account: OutdatedRole, from: Role, to: Role, by: AuditContext) {
    const details = { from, to, group: this.group?.name ?? null };
    return { event: 'role_changed' as const, ...by, subject: userSubject(account), details };
  }
}
