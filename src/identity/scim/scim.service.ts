import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { AdministrationService } from '../../auth/administration.service.js';
import { AccessWritesService } from '../../grants/access-writes.service.js';
import { GroupWritesService } from '../../grants/groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { HEADER_LIMIT_REASON, isHeaderText, namesText } from '../../kernel/name.js';
import { type AccountChangeOutcome, emailProblem, holderText } from '../../users/domain/account.js';
import { AdministratorsService } from '../../users/administrators.service.js';
import { UserStore } from '../../users/user.store.js';
import {
  accountEmail,
  type ScimUser,
  UNSET_ATTRIBUTES,
  type UserAttributes,
  userOfBody,
} from './domain/user-attributes.js';
import { integerId, refusal, jsonExcerpt } from './domain/values.js';
import type { VersionCheck } from './scim-request.js';
import { ScimGroupStore, ScimUserStore } from './scim.store.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import {
  attributesIn,
  type GroupChange,
  addedMemberIds,
  membershipChanges,
  type ScimGroup,
  affectedMemberIds,
  changesByBody,
} from './domain/group-changes.js';

@Injectable()
export class ScimGroupsService {
  constructor(
    private readonly store: ScimGroupStore,
    private readonly groups: GroupWritesService,
    private readonly writes: AccessWritesService,
  ) {}

  /** @throws Refused `not_found` */
  async find(id: number, includeMembers: boolean): Promise<ScimGroup> {
    return orNotFound(await this.store.find(id, includeMembers));
  }

  /** @returns the new group's id. @throws Refused 400; `name_taken` */
  create(body: unknown, context: AuditContext): Promise<number> {
    const changes = changesByBody(body, null);
    return this.writes.run(async () => {
      await this.checkAddedMembers(changes);
      const { name = '', externalId = null } = attributesIn(changes);
      const { id } = await this.groups.create({ name, externalId, description: null, source: 'scim' }, context);
      await this.groups.moveMembers('member_added', id, toMembers(membershipChanges(changes, []).addedIds), context);
      return id;
    });
  }

  /** @throws Refused `not_found`; `group_in_use`, with the live grants and the policies that name the group */
  async delete(id: number, checkVersion: VersionCheck<ScimGroup>, context: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      checkVersion(orNotFound(await this.store.lock(id)));
      await this.groups.delete(id, context);
    });
  }

  /**
   * Changes a group. Locks its row, so that concurrent changes wait. Writes only rows that change.
   * @throws Refused 400, `not_found`, `name_taken`
   */
  change(
    id: number,
    changes: readonly GroupChange[],
    checkVersion: VersionCheck<ScimGroup>,
    context: AuditContext,
  ): Promise<void> {
    return this.writes.run(async () => {
      await this.find(id, false);
      // `checkAddedMembers` locks users before the group is locked, as the deletion of a user does, to prevent deadlocks.
      await this.checkAddedMembers(changes);
      const group = orNotFound(await this.store.lock(id));
      checkVersion(group);
      const { name = group.name, externalId = group.externalId } = attributesIn(changes);
      if (name !== group.name || externalId !== group.externalId) {
        await this.groups.change(id, { name, externalId }, context);
      }
      const affectedIds = affectedMemberIds(changes);
      const presentIds = await this.store.memberIds(id, affectedIds === null ? null : affectedIds.flatMap(integerIds));
      const { addedIds, removedIds } = membershipChanges(changes, presentIds.map(String));
      await this.groups.moveMembers('member_added', id, toMembers(addedIds), context);
      await this.groups.moveMembers('member_removed', id, toMembers(removedIds), context);
    });
  }

  private async checkAddedMembers(changes: readonly GroupChange[]): Promise<void> {
    const ids = addedMemberIds(changes);
    const existingIds = ids.length === 0 ? new Set() : await this.store.lockUsers(ids.flatMap(integerIds));
    const unknownIds = ids.filter((id) => !integerIds(id).some((each) => existingIds.has(each)));
    if (unknownIds.length === 0) return;
    const shownIds = namesText(unknownIds.map(jsonExcerpt), MAX_SHOWN_IDS);
    throw refusal('invalidValue', `There are no such users: ${shownIds}.`);
  }
}

const MAX_SHOWN_IDS = 10;

function integerIds(text: string): number[] {
  return [integerId(text) ?? []].flat();
}

function toMembers(ids: readonly string[]): GroupMember[] {
  return ids.flatMap(integerIds).map((id) => ({ type: 'user', id }));
}

@Injectable()
export class ScimUsersService {
  constructor(
    private readonly store: ScimUserStore,
    private readonly accounts: UserStore,
    private readonly administrators: AdministratorsService,
    private readonly administration: AdministrationService,
    private readonly groups: GroupWritesService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `not_found` */
  async find(id: number): Promise<ScimUser> {
    return orNotFound(await this.store.find(id));
  }

  /** Creates an account, or reactivates the person's inactive account. @throws Refused 400; `name_taken` for a name or id of another account */
  async create(body: unknown, context: AuditContext): Promise<ScimUser> {
    const attributes = userOfBody(body, null);
    return this.writes.run(async () => {
      const { userName: username, externalId } = attributes;
      const inactiveUser = await this.store.lockInactive(attributes);
      if (inactiveUser !== null) return this.writeUser(inactiveUser, attributes, context);
      const email = addressOf(attributes);
      const [outcome] = await this.accounts.create([
        { username, email, role: 'user', source: 'scim', storedPassword: null },
      ]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      if (outcome.kind !== 'created') {
        const adoptedUser = await this.adoptAccount(username, externalId, context);
        if (adoptedUser !== null) return this.writeUser(adoptedUser, attributes, context);
        const holder = outcome.kind === 'exists' ? ({ name: username, holder: 'account' } as const) : outcome.holder;
        throw changeRefusal({ kind: 'name-taken', holder }, username);
      }
      refuseUnsendableName(username);
      const { account, isEmailTaken } = outcome;
      const emailDetails = isEmailTaken ? { email_taken: true } : {};
      const details = { source: 'scim', role: account.role, external_id: externalId, ...emailDetails };
      await this.audit.record({ event: 'account_created', ...context, subject: userSubject(account), details });
      await this.saveAttributes(account.id, attributes);
      return attributes.active
        ? this.find(account.id)
        : this.writeUser(await this.find(account.id), attributes, context);
    });
  }

  /**
   * Deletes a user of SCIM. The account is deactivated: its sessions end, its grants are revoked, it leaves its groups, its name is freed.
   * @throws Refused `not_found`
   */
  async delete(id: number, checkVersion: VersionCheck<ScimUser>, context: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      const user = orNotFound(await this.store.lock(id));
      checkVersion(user);
      const change = { isActive: false, changedBy: 'scim' as const, email: null };
      const outcome = await this.administration.change(id, change, context, auditDetails(user));
      if (outcome.kind !== 'changed') throw changeRefusal(outcome, user.userName);
      await this.groups.removeAccount({ type: 'user', id }, context);
      // Not `user.userName`: an administrator may have renamed the account after SCIM's row was locked.
      const { username } = outcome.account;
      const releasedName = await this.accounts.releaseName({ id, username });
      const subject = userSubject({ id, username });
      const details = { from: username, to: releasedName, external_id: user.externalId };
      await this.audit.record({ event: 'account_renamed', ...context, subject, details });
      await this.store.remove(id);
    });
  }

  /** Changes a user. Locks its row, so that concurrent changes wait. @throws Refused 400, `not_found`, `name_taken` */
  change(
    id: number,
    checkVersion: VersionCheck<ScimUser>,
    context: AuditContext,
    changeAttributes: (user: ScimUser) => UserAttributes,
  ): Promise<ScimUser> {
    return this.writes.run(async () => {
      const user = orNotFound(await this.store.lock(id));
      checkVersion(user);
      return this.writeUser(user, changeAttributes(user), context);
    });
  }

  private async writeUser(user: ScimUser, attributes: UserAttributes, context: AuditContext): Promise<ScimUser> {
    const { userName: username, active } = attributes;
    if (username !== user.userName) refuseUnsendableName(username);
    const change = {
      // Present values are left out, because an administrator may have changed them after SCIM's row was locked.
      username: username === user.userName ? undefined : username,
      isActive: active === user.active ? undefined : active,
      changedBy: 'scim' as const,
      email: addressOf(attributes),
    };
    const outcome = await this.administration.change(user.id, change, context, auditDetails(attributes));
    if (outcome.kind !== 'changed') throw changeRefusal(outcome, username);
    const isSameIdentity = username === user.userName && attributes.externalId === user.externalId;
    if (outcome.oldAccount.role === 'admin' && !isSameIdentity) await this.refuseUnlinkedAdministrator(user.id);
    await this.saveAttributes(user.id, attributes);
    if (attributes.externalId !== user.externalId) {
      const details = { from: user.externalId, to: attributes.externalId };
      const subject = userSubject(outcome.account);
      await this.audit.record({ event: 'external_id_changed', ...context, subject, details });
    }
    return this.find(user.id);
  }

  /** Refuses a new name or external id of an administrator who never signed in at the provider: another person could then take the role. */
  private async refuseUnlinkedAdministrator(id: number): Promise<void> {
    if ((await this.store.linkedSubject(id)) !== null || (await this.administrators.isMember(id))) return;
    const refusalText = 'An administrator who has not signed in at the provider yet keeps userName and externalId.';
    throw refusal('mutability', refusalText);
  }

  private async saveAttributes(id: number, attributes: Omit<UserAttributes, 'userName' | 'active'>): Promise<void> {
    if (await this.store.saveUser(id, attributes, this.clock.now())) return;
    throw new Refused('name_taken', { detail: `Another user has the externalId ${attributes.externalId ?? ''}.` });
  }

  /**
   * Makes an existing account a user of SCIM. Accounts with a password are never taken over.
   * @returns null: no suitable account. @throws Refused `name_taken` if the account is linked to another subject
   */
  private async adoptAccount(
    username: string,
    externalId: string | null,
    context: AuditContext,
  ): Promise<ScimUser | null> {
    const account = await this.accounts.takeOver(username, ['import', 'oidc'], 'scim');
    if (account === null) return null;
    const subject = await this.store.linkedSubject(account.id);
    if (subject !== null && subject !== externalId) {
      throw new Refused('name_taken', {
        detail: `The userName ${username} is of somebody who signs in with another subject than this externalId.`,
      });
    }
    const emails = account.email === null ? [] : [{ value: account.email, type: 'work', primary: true }];
    await this.saveAttributes(account.id, { ...UNSET_ATTRIBUTES, externalId, emails });
    const details = { external_id: externalId };
    await this.audit.record({ event: 'account_adopted', ...context, subject: userSubject(account), details });
    return this.find(account.id);
  }
}

/** The e-mail address for the account; null if it is missing or invalid. SCIM's attributes keep an invalid address. */
function addressOf({ emails }: UserAttributes): string | null {
  const email = accountEmail(emails);
  return email === null || emailProblem(email) !== null ? null : email;
}

function auditDetails({ externalId }: UserAttributes): Record<string, string> {
  return externalId === null ? {} : { external_id: externalId };
}

function changeRefusal(outcome: Exclude<AccountChangeOutcome, { kind: 'changed' }>, username: string): Refused {
  if (outcome.kind === 'unknown') return new Refused('not_found');
  if (outcome.kind === 'name-taken') {
    return new Refused('name_taken', { detail: `The userName ${username} ${holderText(outcome.holder, username)}.` });
  }
  return new Refused('last_administrator');
}

/**
 * Refuses a new name that cannot be sent to the engine in a header. Administrators' routes only warn of such names, but nobody would read
 * a warning in SCIM's answers.
 */
function refuseUnsendableName(username: string): void {
  if (!isHeaderText(username)) throw refusal('invalidValue', `No SQL can be run as userName: ${HEADER_LIMIT_REASON}.`);
}
