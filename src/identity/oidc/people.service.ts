import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { GroupsService } from '../../grants/groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { Transaction } from '../../platform/database/transaction.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Account } from '../../users/domain/account.js';
import { UserStore } from '../../users/user.store.js';
import { type Claims, readGroupsClaim } from './domain/claims.js';
import { type Failed, failure } from './domain/flow.js';
import { accountNameOf, decidePerson, type Person, type PersonRefusal, type PersonAccounts } from './domain/person.js';
import { OidcMetrics } from './oidc.metrics.js';
import { requireOidc } from './oidc-settings.js';
import { OidcStore } from './oidc.store.js';

/** The most attempts while concurrent requests create or link the same account. */
const MOST_TRIES = 3;

const SHOWN = 20;

const MINUTE_MS = 60_000;

/** Accounts and memberships of people authenticated by the provider. */
@Injectable()
export class PeopleService {
  constructor(
    private readonly settings: Settings,
    private readonly store: OidcStore,
    private readonly accounts: UserStore,
    private readonly groups: GroupsService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly metrics: OidcMetrics,
  ) {}

  /** Finds, links or creates the account of a person. */
  async accountOf(person: Person, by: AuditContext): Promise<Account | Failed<PersonRefusal>> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const found = await this.transaction.run(async () => this.carryOut(person, await this.findAccounts(person), by));
      if (found !== null) return found;
    }
    return failure('name_taken', 'person');
  }

  /** Reads the accounts that may be a person's. The link is read last, because another tab may just have created the account. */
  private async findAccounts(person: Person): Promise<PersonAccounts> {
    const name = accountNameOf(person);
    const found = name === null ? null : await this.accounts.findForLogin(name);
    // The lookup ignores case, but only the same spelling counts as the same name.
    const named = found?.account.username === name ? await this.withLink(found.account) : null;
    const pushedId = person.externalId === null ? null : await this.store.pushedAccount(person.externalId);
    const pushed = pushedId === null ? null : await this.withLink(await this.accounts.find(pushedId));
    const linkedId = await this.store.accountOf(person);
    return { named, pushed, linked: linkedId === null ? null : await this.accounts.find(linkedId) };
  }

  private async withLink(account: Account | null): Promise<PersonAccounts['named']> {
    return account && { account, isLinked: (await this.store.linkOf(account.id)) !== null };
  }

  /** Decides and carries the decision out. Null: a concurrent request was faster, so the decision must be made again. */
  private async carryOut(person: Person, present: PersonAccounts, by: AuditContext) {
    const decision = decidePerson(person, present, requireOidc(this.settings));
    switch (decision.kind) {
      case 'sign-in':
        await this.store.recordSignIn(decision.account.id, this.clock.now());
        return decision.account;
      case 'failed':
        return decision;
      case 'link':
        return (await this.link(decision.account, person, by)) ? decision.account : null;
      case 'create': {
        const { username, email } = decision;
        const [outcome] = await this.accounts.create([
          { username, email, role: 'user', source: 'oidc', password: null },
        ]);
        if (outcome?.kind === 'name-taken') return failure('name_taken', 'person');
        if (outcome?.kind !== 'created') return null;
        const { account, isEmailTaken } = outcome;
        const details = { source: 'oidc', role: account.role, ...(isEmailTaken && { email_taken: true }) };
        await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
        if (!(await this.link(account, person, by))) throw new Error('a person was linked while an account was made');
        return account;
      }
    }
  }

  /** Links an account in the running transaction. @returns false: the account or the person has another link */
  async link(account: Account, person: Person, by: AuditContext): Promise<boolean> {
    if (!(await this.store.link(account.id, person, this.clock.now()))) return false;
    const details = { issuer: person.issuer, subject: person.subject };
    await this.audit.record({ event: 'account_linked', ...by, subject: userSubject(account), details });
    return true;
  }

  /**
   * Applies the claim about groups to the account's memberships, unless it is unknown or newer claims were applied.
   * @param isReported whether disregarded groups are recorded
   * @param heldMs how long the memberships count without newer claims; they always count until the next recheck
   * @returns false: the service is too busy with other writes
   */
  async applyGroupsClaim(
    account: Account,
    claims: Claims,
    by: AuditContext,
    { isReported, heldMs }: { isReported: boolean; heldMs: number },
  ): Promise<boolean> {
    const { groupsClaim, recheckMinutes } = requireOidc(this.settings);
    if (groupsClaim === null) return true;
    const claimed = readGroupsClaim(claims, groupsClaim);
    if (claimed.kind === 'unknown') {
      if (isReported) await this.reportGroups(account, { unknown: true }, by);
      return true;
    }
    const issuedAt = new Date(Number(claims['iat']) * 1000);
    const heldUntil = new Date(this.clock.now().getTime() + Math.max(heldMs, recheckMinutes * MINUTE_MS));
    const isCurrent = (): Promise<boolean> => this.store.recordClaims(account.id, issuedAt, heldUntil);
    const taken = await this.groups.setOidcMemberships(account.id, claimed.names, by, isCurrent).catch(nullIfBusy);
    if (taken === null) return false;
    const { ambiguous, unusable } = claimed;
    if (isReported && taken.length + ambiguous.length + unusable > 0) {
      const details = { taken: taken.slice(0, SHOWN), ambiguous: ambiguous.slice(0, SHOWN), unusable };
      await this.reportGroups(account, details, by);
    }
    return true;
  }

  /** Ends an account's memberships if the claims behind them have expired. */
  async endExpiredGroups(userId: number): Promise<void> {
    const hasLapsed = (): Promise<boolean> => this.store.haveClaimsLapsed(userId, this.clock.now());
    await this.groups.setOidcMemberships(userId, [], { actor: null, origin: null }, hasLapsed).catch(nullIfBusy);
  }

  private async reportGroups(account: Account, details: Record<string, unknown>, by: AuditContext): Promise<void> {
    this.metrics.disregardedGroups.inc();
    await this.audit.record({ event: 'groups_disregarded', ...by, subject: userSubject(account), details });
  }
}

function nullIfBusy(error: unknown): null {
  if (error instanceof Refused && error.code === 'busy') return null;
  throw error;
}
