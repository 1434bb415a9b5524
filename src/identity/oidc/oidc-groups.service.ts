import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { ProviderGroupsService } from '../../grants/provider-groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import type { Account } from '../../users/domain/account.js';
import { claimedGroups } from './domain/group-claim.js';
import type { Claims } from './domain/identity-provider.js';
import { OidcStore } from './domain/oidc-store.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';

/** Names in an audit event. */
const SHOWN = 20;

const MINUTE_MS = 60_000;

/** People's groups at the provider become memberships here, where a claim says which. */
@Injectable()
export class OidcGroupsService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly groups: ProviderGroupsService,
    private readonly store: OidcStore,
    private readonly clock: Clock,
    private readonly audit: AuditService,
    private readonly metrics: OidcMetrics,
  ) {}

  get areFollowed(): boolean {
    return this.settings.given.groupsClaim !== null;
  }

  /**
   * Where the provider does not say, memberships stay as they are, as where it has said something newer meanwhile.
   * @param isReported whether what could not be followed is: each sign-in does
   * @param heldMs for how long they count without another word of the provider's; at least until it is asked again
   * @returns whether it was done: false, too much is being written
   */
  async follow(
    account: Account,
    claims: Claims,
    by: AuditContext,
    { isReported, heldMs }: { isReported: boolean; heldMs: number },
  ): Promise<boolean> {
    const { groupsClaim, recheckMinutes } = this.settings.given;
    if (groupsClaim === null) return true;
    const claimed = claimedGroups(claims, groupsClaim);
    if (claimed.kind === 'unknown') {
      if (isReported) await this.report(account, { unknown: true }, by);
      return true;
    }
    const issuedAt = new Date(Number(claims['iat']) * 1000);
    const heldUntil = new Date(this.clock.now().getTime() + Math.max(heldMs, recheckMinutes * MINUTE_MS));
    const isCurrent = (): Promise<boolean> => this.store.takeClaims(account.id, issuedAt, heldUntil);
    const taken = await this.groups.follow(account.id, claimed.names, by, isCurrent).catch(nullIfBusy);
    if (taken === null) return false;
    const { ambiguous, unusable } = claimed;
    if (isReported && taken.length + ambiguous.length + unusable > 0) {
      const details = { taken: taken.slice(0, SHOWN), ambiguous: ambiguous.slice(0, SHOWN), unusable };
      await this.report(account, details, by);
    }
    return true;
  }

  /** Ends memberships of which the provider has said nothing for too long. */
  async lapse(userId: number): Promise<void> {
    const hasLapsed = (): Promise<boolean> => this.store.haveClaimsLapsed(userId, this.clock.now());
    await this.groups.follow(userId, [], { actor: null, origin: null }, hasLapsed).catch(nullIfBusy);
  }

  private async report(account: Account, details: Record<string, unknown>, by: AuditContext): Promise<void> {
    this.metrics.disregardedGroups();
    await this.audit.record({ event: 'groups_disregarded', ...by, subject: userSubject(account), details });
  }
}

function nullIfBusy(error: unknown): null {
  if (error instanceof Refused && error.code === 'busy') return null;
  throw error;
}
