import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { AdministrationService } from '../../auth/administration.service.js';
import { PrincipalRemovalService } from '../../grants/principal-removal.service.js';
import { Clock } from '../../kernel/clock.js';
import { found, Refused } from '../../kernel/errors.js';
import { BEYOND_HEADERS, isHeaderText } from '../../kernel/name.js';
import { Transaction } from '../../platform/transaction.js';
import { type Account, emailProblem, holderText } from '../../users/domain/account.js';
import { AdministratorsService } from '../../users/administrators.service.js';
import { UsersService } from '../../users/users.service.js';
import type { ListRequest, ListResult } from './domain/list-request.js';
import { operationsOf } from './domain/patch.js';
import { invalid } from './domain/scim-refusal.js';
import { type ScimUser, ScimUserStore } from './domain/scim-user.js';
import type { VersionCheck } from './scim-request.js';
import { ScimWritesService } from './scim-writes.service.js';
import { accountEmail, changedUser, type UserAttributes, wholeUser } from './domain/user-attributes.js';

/** Accounts by SCIM: made, adopted, changed, deleted. */
@Injectable()
export class ScimUsersService {
  constructor(
    private readonly store: ScimUserStore,
    private readonly users: UsersService,
    private readonly administrators: AdministratorsService,
    private readonly administration: AdministrationService,
    private readonly removal: PrincipalRemovalService,
    private readonly audit: AuditService,
    private readonly writes: ScimWritesService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `not_found` */
  async find(id: number): Promise<ScimUser> {
    return found(await this.store.find(id));
  }

  list({ filter, offset, count }: ListRequest): Promise<ListResult<ScimUser>> {
    return this.store.list(filter, offset, count);
  }

  /** A person who was disabled comes back to the same account. @throws Refused 400; `name_taken` for a name or an external id that is another account's */
  async create(body: unknown, by: AuditContext): Promise<ScimUser> {
    const asked = wholeUser(body, null);
    return this.writes.run(async () => {
      const { userName: username, externalId } = asked;
      const former = await this.store.lockInactive(asked);
      if (former !== null) return this.write(former, asked, by);
      const email = addressOf(asked);
      const [outcome] = await this.users.create([{ username, email, role: 'user', source: 'scim', password: null }]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      if (outcome.kind !== 'created') {
        const adopted = await this.adopt(username, externalId, by);
        if (adopted !== null) return this.write(adopted, asked, by);
        const holder = outcome.kind === 'exists' ? ({ name: username, holder: 'account' } as const) : outcome.holder;
        throw nameTaken(`The userName ${username} ${holderText(holder, username)}.`);
      }
      refuseBeyondHeaders(username);
      const { account } = outcome;
      const details = { source: 'scim', role: account.role, external_id: externalId };
      await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
      await this.keep(account.id, asked);
      return asked.active ? this.find(account.id) : this.write(await this.find(account.id), asked, by);
    });
  }

  /** @throws Refused 400, `not_found`, `name_taken` */
  replace(id: number, body: unknown, check: VersionCheck<ScimUser>, by: AuditContext): Promise<ScimUser> {
    return this.change(id, check, by, (user) => wholeUser(body, { id: String(user.id), active: user.active }));
  }

  /** @throws Refused 400, `not_found`, `name_taken` */
  patch(id: number, body: unknown, check: VersionCheck<ScimUser>, by: AuditContext): Promise<ScimUser> {
    const operations = operationsOf(body);
    return this.change(id, check, by, (user) => changedUser(user, String(user.id), operations));
  }

  /**
   * Deactivates the account for good: its sessions end, its grants are revoked, it leaves its groups and its name, and is gone for SCIM.
   * @throws Refused `not_found`
   */
  async delete(id: number, check: VersionCheck<ScimUser>, by: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      const user = found(await this.store.lock(id));
      check(user);
      await this.deactivate(user, by);
      await this.removal.remove({ type: 'user', id }, by);
      const to = await this.users.releaseName({ id, username: user.userName });
      const subject = userSubject({ id, username: user.userName });
      const details = { from: user.userName, to, external_id: user.externalId };
      await this.audit.record({ event: 'account_renamed', ...by, subject, details });
      await this.store.remove(id);
    });
  }

  /** Locked, so that of several changes at once each sees what the one before left. */
  private change(
    id: number,
    check: VersionCheck<ScimUser>,
    by: AuditContext,
    next: (user: ScimUser) => UserAttributes,
  ): Promise<ScimUser> {
    return this.writes.run(async () => {
      const user = found(await this.store.lock(id));
      check(user);
      return this.write(user, next(user), by);
    });
  }

  private async write(user: ScimUser, asked: UserAttributes, by: AuditContext): Promise<ScimUser> {
    const { userName: username, active: isActive } = asked;
    if (username !== user.userName) refuseBeyondHeaders(username);
    const change = { username, isActive, by: 'scim' as const, email: addressOf(asked) };
    const outcome = await this.administration.change(user.id, change, by, auditDetails(asked));
    if (outcome.kind === 'name-taken') {
      throw nameTaken(`The userName ${username} ${holderText(outcome.holder, username)}.`);
    }
    if (outcome.kind !== 'changed') throw unchanged(outcome.kind);
    const isFoundAlike = username === user.userName && asked.externalId === user.externalId;
    if (outcome.before.role === 'admin' && !isFoundAlike) await this.checkTaken(user.id);
    await this.keep(user.id, asked);
    return this.find(user.id);
  }

  /** Whoever has the name or the external id would sign in first, with a role that somebody here gave to another person. */
  private async checkTaken(id: number): Promise<void> {
    if ((await this.store.linkedSubject(id)) !== null || (await this.administrators.isMember(id))) return;
    const detail = 'An administrator who has not signed in at the provider yet keeps userName and externalId.';
    throw invalid('mutability', detail);
  }

  private async keep(id: number, asked: UserAttributes): Promise<void> {
    if (await this.store.put(id, asked, this.clock.now())) return;
    throw nameTaken(`Another user has the externalId ${asked.externalId ?? ''}.`);
  }

  private async deactivate(user: ScimUser, by: AuditContext): Promise<void> {
    const change = { isActive: false, by: 'scim' as const, email: null };
    const outcome = await this.administration.change(user.id, change, by, auditDetails(user));
    if (outcome.kind !== 'changed' && outcome.kind !== 'name-taken') throw unchanged(outcome.kind);
  }

  /**
   * Null: no account of that name, in any case of ASCII, that an import or a sign-in at the provider made, and that has no password.
   * @throws Refused `name_taken` where another person signs in to it
   */
  private adopt(username: string, externalId: string | null, by: AuditContext): Promise<ScimUser | null> {
    return this.transaction.run(async () => {
      const account = await this.users.takeOver(username, ['import', 'oidc'], 'scim');
      if (account === null) return null;
      const subject = await this.store.linkedSubject(account.id);
      if (subject !== null && subject !== externalId) {
        throw nameTaken(
          `The userName ${username} is of somebody who signs in with another subject than this externalId.`,
        );
      }
      await this.store.put(account.id, profileOf(account, externalId), this.clock.now());
      const details = { external_id: externalId };
      await this.audit.record({ event: 'account_adopted', ...by, subject: userSubject(account), details });
      return this.find(account.id);
    });
  }
}

function profileOf({ email }: Account, externalId: string | null) {
  const name = { formatted: null, familyName: null, givenName: null };
  return {
    externalId,
    name,
    displayName: null,
    emails: email === null ? [] : [{ value: email, type: 'work', primary: true }],
  };
}

/** What is no address is kept for SCIM, and is not the account's. */
function addressOf({ emails }: UserAttributes): string | null {
  const email = accountEmail(emails);
  return email === null || emailProblem(email) !== null ? null : email;
}

function auditDetails({ externalId }: UserAttributes): Record<string, string> {
  return externalId === null ? {} : { external_id: externalId };
}

function unchanged(kind: 'unknown' | 'last-administrator' | 'has-password'): Refused {
  if (kind === 'unknown') return new Refused('not_found');
  return new Refused('account_has_password', {
    detail: 'An account with a password is changed by administrators alone.',
  });
}

function nameTaken(detail: string): Refused {
  return new Refused('name_taken', { detail });
}

/**
 * Of a new name alone: an account that has one already goes on. An administrator who makes an account reads a warning; of SCIM's
 * answers nobody reads more than the refusal, and the mapping at the provider can still be changed.
 */
function refuseBeyondHeaders(username: string): void {
  if (!isHeaderText(username)) throw invalid('invalidValue', `No SQL can be run as userName: ${BEYOND_HEADERS}.`);
}
