import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { AdministrationService } from '../../auth/administration.service.js';
import { AccessWritesService } from '../../grants/access-writes.service.js';
import { GroupWritesService } from '../../grants/groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { BEYOND_HEADERS, firstNames, isHeaderText } from '../../kernel/name.js';
import { emailProblem, holderText } from '../../users/domain/account.js';
import { AdministratorsService } from '../../users/administrators.service.js';
import { UserStore } from '../../users/user.store.js';
import {
  accountEmail,
  type ScimUser,
  UNSET_ATTRIBUTES,
  type UserAttributes,
  userOfBody,
} from './domain/user-attributes.js';
import { integerId, invalid, jsonExcerpt } from './domain/values.js';
import type { VersionCheck } from './scim-request.js';
import { ScimGroupStore, ScimUserStore } from './scim.store.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import {
  attributesIn,
  type GroupChange,
  addedMembers,
  membershipAfter,
  type ScimGroup,
  affectedMembers,
  changesByBody,
} from './domain/group-changes.js';

/** Creates, changes and deletes groups by SCIM. */
@Injectable()
export class ScimGroupsService {
  constructor(
    private readonly store: ScimGroupStore,
    private readonly groups: GroupWritesService,
    private readonly writes: AccessWritesService,
  ) {}

  /** @throws Refused `not_found` */
  async find(id: number, withMembers: boolean): Promise<ScimGroup> {
    return orNotFound(await this.store.find(id, withMembers));
  }

  /** @returns the new group's id. @throws Refused 400; `name_taken` */
  create(body: unknown, by: AuditContext): Promise<number> {
    const changes = changesByBody(body, null);
    return this.writes.run(async () => {
      await this.checkJoining(changes);
      const { name = '', externalId = null } = attributesIn(changes);
      const { id } = await this.groups.create({ name, externalId, description: null, source: 'scim' }, by);
      await this.groups.moveMembers('member_added', id, asMembers(membershipAfter(changes, []).added), by);
      return id;
    });
  }

  /** @throws Refused `not_found`; `group_in_use`, with the grants and policies that name the group */
  async delete(id: number, check: VersionCheck<ScimGroup>, by: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      check(orNotFound(await this.store.lock(id)));
      await this.groups.delete(id, by);
    });
  }

  /**
   * Locks a group and changes it, so that changes are serialized. Writes only rows that change.
   * @throws Refused 400, `not_found`, `name_taken`
   */
  change(id: number, changes: readonly GroupChange[], check: VersionCheck<ScimGroup>, by: AuditContext): Promise<void> {
    return this.writes.run(async () => {
      await this.find(id, false);
      // Users are locked before groups, as in the deletion of a user, to prevent deadlocks.
      await this.checkJoining(changes);
      const group = orNotFound(await this.store.lock(id));
      check(group);
      const { name = group.name, externalId = group.externalId } = attributesIn(changes);
      if (name !== group.name || externalId !== group.externalId) {
        await this.groups.change(id, { name, externalId }, by);
      }
      const among = affectedMembers(changes);
      const present = await this.store.memberIds(id, among === null ? null : among.flatMap(userId));
      const { added, removed } = membershipAfter(changes, present.map(String));
      await this.groups.moveMembers('member_added', id, asMembers(added), by);
      await this.groups.moveMembers('member_removed', id, asMembers(removed), by);
    });
  }

  private async checkJoining(changes: readonly GroupChange[]): Promise<void> {
    const ids = addedMembers(changes);
    const known = ids.length === 0 ? new Set() : await this.store.lockUsers(ids.flatMap(userId));
    const unknown = ids.filter((id) => !userId(id).some((each) => known.has(each)));
    if (unknown.length === 0) return;
    throw invalid('invalidValue', `There are no such users: ${firstNames(unknown.map(jsonExcerpt), SHOWN)}.`);
  }
}

const SHOWN = 10;

function userId(text: string): number[] {
  return [integerId(text) ?? []].flat();
}

function asMembers(ids: readonly string[]): GroupMember[] {
  return ids.flatMap(userId).map((id) => ({ type: 'user', id }));
}

/** Creates, adopts, changes and deletes accounts by SCIM. */
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

  /** Creates an account, or reactivates the person's inactive one. @throws Refused 400; `name_taken` for a name or id of another account */
  async create(body: unknown, by: AuditContext): Promise<ScimUser> {
    const asked = userOfBody(body, null);
    return this.writes.run(async () => {
      const { userName: username, externalId } = asked;
      const former = await this.store.lockInactive(asked);
      if (former !== null) return this.writeUser(former, asked, by);
      const email = addressOf(asked);
      const [outcome] = await this.accounts.create([{ username, email, role: 'user', source: 'scim', password: null }]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      if (outcome.kind !== 'created') {
        const adopted = await this.adoptAccount(username, externalId, by);
        if (adopted !== null) return this.writeUser(adopted, asked, by);
        const holder = outcome.kind === 'exists' ? ({ name: username, holder: 'account' } as const) : outcome.holder;
        throw nameTaken(`The userName ${username} ${holderText(holder, username)}.`);
      }
      refuseBeyondHeaders(username);
      const { account } = outcome;
      const details = { source: 'scim', role: account.role, external_id: externalId };
      await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
      await this.keepAttributes(account.id, asked);
      return asked.active ? this.find(account.id) : this.writeUser(await this.find(account.id), asked, by);
    });
  }

  /**
   * Deactivates an account for good: ends its sessions, revokes its grants, removes it from groups, frees its name, hides it from SCIM.
   * @throws Refused `not_found`
   */
  async delete(id: number, check: VersionCheck<ScimUser>, by: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      const user = orNotFound(await this.store.lock(id));
      check(user);
      const change = { isActive: false, by: 'scim' as const, email: null };
      const outcome = await this.administration.change(id, change, by, auditDetails(user));
      if (outcome.kind !== 'changed' && outcome.kind !== 'name-taken') throw unchanged(outcome.kind);
      await this.groups.removeAccount({ type: 'user', id }, by);
      const to = await this.accounts.releaseName({ id, username: user.userName });
      const subject = userSubject({ id, username: user.userName });
      const details = { from: user.userName, to, external_id: user.externalId };
      await this.audit.record({ event: 'account_renamed', ...by, subject, details });
      await this.store.remove(id);
    });
  }

  /** Locks a user and changes it, so that changes are serialized. @throws Refused 400, `not_found`, `name_taken` */
  change(
    id: number,
    check: VersionCheck<ScimUser>,
    by: AuditContext,
    next: (user: ScimUser) => UserAttributes,
  ): Promise<ScimUser> {
    return this.writes.run(async () => {
      const user = orNotFound(await this.store.lock(id));
      check(user);
      return this.writeUser(user, next(user), by);
    });
  }

  private async writeUser(user: ScimUser, asked: UserAttributes, by: AuditContext): Promise<ScimUser> {
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
    await this.keepAttributes(user.id, asked);
    return this.find(user.id);
  }

  /** Refuses a new name or external id for an unlinked administrator, because another person could then sign in with the role. */
  private async checkTaken(id: number): Promise<void> {
    if ((await this.store.linkedSubject(id)) !== null || (await this.administrators.isMember(id))) return;
    const detail = 'An administrator who has not signed in at the provider yet keeps userName and externalId.';
    throw invalid('mutability', detail);
  }

  private async keepAttributes(id: number, asked: UserAttributes): Promise<void> {
    if (await this.store.saveUser(id, asked, this.clock.now())) return;
    throw nameTaken(`Another user has the externalId ${asked.externalId ?? ''}.`);
  }

  /**
   * Adopts the account of that name (compared without the case of ASCII letters) if an import or a sign-in at the provider made it and it
   * has no password. @returns null: there is none. @throws Refused `name_taken` if another person signs in to it
   */
  private async adoptAccount(username: string, externalId: string | null, by: AuditContext): Promise<ScimUser | null> {
    const account = await this.accounts.takeOver(username, ['import', 'oidc'], 'scim');
    if (account === null) return null;
    const subject = await this.store.linkedSubject(account.id);
    if (subject !== null && subject !== externalId) {
      throw nameTaken(
        `The userName ${username} is of somebody who signs in with another subject than this externalId.`,
      );
    }
    const emails = account.email === null ? [] : [{ value: account.email, type: 'work', primary: true }];
    await this.store.saveUser(account.id, { ...UNSET_ATTRIBUTES, externalId, emails }, this.clock.now());
    const details = { external_id: externalId };
    await this.audit.record({ event: 'account_adopted', ...by, subject: userSubject(account), details });
    return this.find(account.id);
  }
}

/** The e-mail address for the account. SCIM alone keeps an invalid one. */
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
 * Refuses new names that cannot be sent in the engine's header; accounts that have one stay. Administrators get a warning instead, but
 * nobody would read it in SCIM's answers, and the mapping at the provider can be changed.
 */
function refuseBeyondHeaders(username: string): void {
  if (!isHeaderText(username)) throw invalid('invalidValue', `No SQL can be run as userName: ${BEYOND_HEADERS}.`);
}
