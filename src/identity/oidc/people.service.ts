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
import { type Failure, failure } from './domain/flow.js';
import { accountNameOf, decidePerson, type Person, type PersonRefusal, type PersonAccounts } from './domain/person.js';
import { OidcMetrics } from './oidc.metrics.js';
import { requireOidc } from './identity-provider.js';
import { OidcStore } from './oidc.store.js';

/** The most attempts to find or create a person's account: an attempt fails when a concurrent request creates or links the same account. */
const MAX_ATTEMPTS = 3;

const MAX_SHOWN_NAMES = 20;

const MINUTE_MS = 60_000;

/** Finds the accounts of people authenticated by the provider, and updates their memberships. */
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
  async accountOf(person: Person, context: AuditContext): Promise<Account | Failure<PersonRefusal>> {
    for (let attemptCount = 0; attemptCount < MAX_ATTEMPTS; attemptCount += 1) {
      const account = await this.transaction.run(() => this.assignAccount(person, context));
      if (account !== null) return account;
    }
    return failure('name_taken', 'person');
  }

  /** Reads the accounts that may belong to a person. The person's link is read last, because another tab may create and link an account meanwhile. */
  private async findAccounts(person: Person): Promise<PersonAccounts> {
    const name = accountNameOf(person);
    const loginAccount = name === null ? null : await this.accounts.findForLogin(name);
    // `findForLogin` ignores case, but only an account with the same spelling counts.
    const accountByName = loginAccount?.account.username === name ? await this.withLink(loginAccount.account) : null;
    const scimUserId = person.externalId === null ? null : await this.store.accountIdByExternalId(person.externalId);
    const externalIdAccount = scimUserId === null ? null : await this.withLink(await this.accounts.find(scimUserId));
    const linkedAccountId = await this.store.accountIdOf(person);
    const linkedAccount = linkedAccountId === null ? null : await this.accounts.find(linkedAccountId);
    const isLinkedAccountDeleted = linkedAccountId !== null && (await this.store.isDeletedByScim(linkedAccountId));
    return { accountByName, externalIdAccount, linkedAccount, isLinkedAccountDeleted };
  }

  private async withLink(account: Account | null): Promise<PersonAccounts['accountByName']> {
    return account && { account, isLinked: (await this.store.linkOf(account.id)) !== null };
  }

  /** Decides which account the person gets, and links or creates it. Null: a concurrent request changed an account, so the caller must try again. */
  private async assignAccount(person: Person, context: AuditContext) {
    const accounts = await this.findAccounts(person);
    const decision = decidePerson(person, accounts, requireOidc(this.settings));
    switch (decision.kind) {
      case 'sign-in':
        await this.store.recordSignIn(decision.account.id, this.clock.now());
        return decision.account;
      case 'failed':
        return decision;
      case 'link': {
        const { linkedAccount } = accounts;
        if (linkedAccount !== null && (await this.unlink(linkedAccount, context)) === null) return null;
        if (await this.link(decision.account, person, context)) return decision.account;
        if (linkedAccount !== null) throw new Error('an account was linked while its person lost the former link');
        return null;
      }
      case 'create': {
        const { username, email } = decision;
        const [outcome] = await this.accounts.create([
          { username, email, role: 'user', source: 'oidc', storedPassword: null },
        ]);
        if (outcome?.kind === 'name-taken') return failure('name_taken', 'person');
        if (outcome?.kind !== 'created') return null;
        const { account, isEmailTaken } = outcome;
        const details = { source: 'oidc', role: account.role, ...(isEmailTaken && { email_taken: true }) };
        await this.audit.record({ event: 'account_created', ...context, subject: userSubject(account), details });
        const isLinked = await this.link(account, person, context);
        if (!isLinked) throw new Error('a person was linked while an account was made');
        return account;
      }
    }
  }

  /** Removes an account's link in the running transaction. @returns the sessions that began at the provider; null: no link */
  async unlink(account: Account, context: AuditContext): Promise<string[] | null> {
    const removedLink = await this.store.unlink(account.id);
    if (removedLink === null) return null;
    const { person, sessionIds } = removedLink;
    const details = { ...person };
    await this.audit.record({ event: 'account_unlinked', ...context, subject: userSubject(account), details });
    return sessionIds;
  }

  /** Links an account in the running transaction. @returns false: the account or the person has another link */
  async link(account: Account, person: Person, context: AuditContext): Promise<boolean> {
    if (!(await this.store.link(account.id, person, this.clock.now()))) return false;
    const details = { issuer: person.issuer, subject: person.subject };
    await this.audit.record({ event: 'account_linked', ...context, subject: userSubject(account), details });
    return true;
  }

  /**
   * Applies the claim about groups to the account's memberships, unless newer claims were already applied.
   * @param mustReport whether the audit trail records groups that were not applied
   * @param validityMs time for which the memberships are valid without newer claims; at least the time between two rechecks
   * @returns false: the service is too busy with other writes
   */
  async applyGroupsClaim(
    account: Account,
    claims: Claims,
    context: AuditContext,
    { mustReport, validityMs }: { mustReport: boolean; validityMs: number },
  ): Promise<boolean> {
    const { groupsClaim, recheckMinutes } = requireOidc(this.settings);
    if (groupsClaim === null) return true;
    const claimedGroups = readGroupsClaim(claims, groupsClaim);
    if (claimedGroups.kind === 'unknown') {
      if (mustReport) await this.reportDisregarded(account, { unknown: true }, context);
      return true;
    }
    const issuedAt = new Date(Number(claims['iat']) * 1000);
    const heldUntil = new Date(this.clock.now().getTime() + Math.max(validityMs, recheckMinutes * MINUTE_MS));
    const recordIfNewer = (): Promise<boolean> => this.store.recordClaims(account.id, issuedAt, heldUntil);
    const conflicts = await this.groups
      .setOidcMemberships(account.id, claimedGroups.names, context, recordIfNewer)
      .catch(nullIfBusy);
    if (conflicts === null) return false;
    const { ambiguousNames, unusableCount } = claimedGroups;
    if (mustReport && conflicts.length + ambiguousNames.length + unusableCount > 0) {
      const details = {
        taken: conflicts.slice(0, MAX_SHOWN_NAMES),
        ambiguous: ambiguousNames.slice(0, MAX_SHOWN_NAMES),
        unusable: unusableCount,
      };
      await this.reportDisregarded(account, details, context);
    }
    return true;
  }

  /** Ends an account's memberships by claims if the last applied claims have expired. */
  async endExpiredMemberships(userId: number): Promise<void> {
    const hasLapsed = (): Promise<boolean> => this.store.haveClaimsLapsed(userId, this.clock.now());
    await this.groups.setOidcMemberships(userId, [], { actor: null, origin: null }, hasLapsed).catch(nullIfBusy);
  }

  private async reportDisregarded(
    account: Account,
    details: Record<string, unknown>,
    context: AuditContext,
  ): Promise<void> {
    this.metrics.disregardedGroups.inc();
    await this.audit.record({ event: 'groups_disregarded', ...context, subject: userSubject(account), details });
  }
}

function nullIfBusy(error: unknown): null {
  if (error instanceof Refused && error.code === 'busy') return null;
  throw error;
}
