import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { foldedName } from '../kernel/name.js';
import { singleFlight } from '../kernel/promises.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import { UserStore } from './user.store.js';
import type { AdministratorsGroup, OutdatedRole } from './domain/administrators.js';
import type { Role } from './domain/account.js';

/** Lifetime of the cached answer in milliseconds. It is limited because the provider's group or SQL can remove the last administrator. */
const KNOWN_MS = 60_000;

/** Gives the members of the identity provider's group (AUTH_OIDC_ADMINISTRATORS_GROUP) the role of administrators. */
@Injectable()
export class AdministratorsService {
  private knownUntil = 0;

  constructor(
    private readonly store: UserStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Gives and takes roles. Must be called in each transaction that changes members or names of groups. */
  async updateRoles(by: AuditContext): Promise<void> {
    await this.transaction.run(async () => {
      const { promoted, demoted } = await this.store.updateRoles(this.group);
      const entries = [
        ...promoted.map((account) => this.event(account, 'user', 'admin', by)),
        ...demoted.map((account) => this.event(account, 'admin', 'user', by)),
      ];
      if (entries.length > 0) await this.audit.recordAll(entries);
    });
  }

  /** Whether the account is in the group, which then decides its role. */
  async isMember(userId: number): Promise<boolean> {
    return this.group !== null && this.store.isInGroup(userId, this.group);
  }

  /** Whether a name is reserved for the provider's group: a local group of that name would exclude it and its members. */
  isGroupName(name: string): boolean {
    return this.group !== null && foldedName(this.group.name) === foldedName(name);
  }

  /** Whether there is an active administrator. A yes is cached for a minute, because unauthenticated requests ask. */
  async hasAny(): Promise<boolean> {
    return this.clock.now().getTime() < this.knownUntil || this.ask();
  }

  private readonly ask = singleFlight(async () => {
    const exist = await this.store.hasAdministrator();
    if (exist) this.knownUntil = this.clock.now().getTime() + KNOWN_MS;
    return exist;
  });

  private get group(): AdministratorsGroup | null {
    return this.settings.oidc?.administrators ?? null;
  }

  private event(account: OutdatedRole, from: Role, to: Role, by: AuditContext) {
    const details = { from, to, group: this.group?.name ?? null };
    return { event: 'role_changed' as const, ...by, subject: userSubject(account), details };
  }
}
