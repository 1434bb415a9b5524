import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import { MAX_LISTED_MEMBERS, type ScimGroup } from './domain/group-changes.js';
import type { ListRequest, ListResult } from './domain/list-request.js';
import type { ScimUser, UserAttributes } from './domain/user-attributes.js';
import { type Column, type FilterFields, filteredPage, caseInsensitive } from './infrastructure/filter-condition.js';

const USER_SOURCE = `
  FROM scim_users s JOIN users u ON u.id = s.user_id`;

const USER_COLUMNS = `
  u.id, u.username AS "userName", u.is_active AS active, u.created_at AS "createdAt", s.changed_at AS "changedAt",
         s.external_id AS "externalId", s.display_name AS "displayName", s.emails,
         json_build_object('formatted', s.formatted_name, 'familyName', s.family_name, 'givenName', s.given_name) AS name,
         (SELECT coalesce(json_agg(json_build_object('id', g.id, 'name', g.name) ORDER BY g.id), '[]')
            FROM group_members m JOIN groups g ON g.id = m.group_id
           WHERE m.user_id = u.id AND g.source = 'scim' AND g.deleted_at IS NULL) AS groups`;

const USER_FILTER_ATTRIBUTES: FilterFields = {
  columns: new Map<string, Column>([
    ['id', { type: 'id', sql: 'u.id' }],
    // The comparison ignores the case of ASCII letters only, as the index does: names that differ in other letters are different names.
    ['username', { type: 'text', sql: 'u.username', expression: (text) => `lower(${text} COLLATE "C")` }],
    ['externalid', { type: 'text', sql: 's.external_id' }],
    ['displayname', caseInsensitive('s.display_name')],
    ['name.formatted', caseInsensitive('s.formatted_name')],
    ['name.familyname', caseInsensitive('s.family_name')],
    ['name.givenname', caseInsensitive('s.given_name')],
    ['active', { type: 'boolean', sql: 'u.is_active' }],
    ['meta.created', { type: 'time', sql: 'u.created_at' }],
    ['meta.lastmodified', { type: 'time', sql: 's.changed_at' }],
  ]),
  listAttributes: new Map([
    [
      'emails',
      {
        columns: new Map<string, Column>([
          ['value', caseInsensitive('e.value')],
          ['type', caseInsensitive('e.type')],
          ['primary', { type: 'boolean', sql: 'e."primary"' }],
        ]),
        existsSql: (condition) =>
          `EXISTS (SELECT FROM jsonb_to_recordset(s.emails) AS e (value text, type text, "primary" boolean) WHERE ${condition})`,
      },
    ],
    [
      'groups',
      {
        columns: new Map<string, Column>([
          ['value', { type: 'id', sql: 'g.id' }],
          ['display', caseInsensitive('g.name')],
        ]),
        existsSql: (condition) =>
          `EXISTS (SELECT FROM group_members m JOIN groups g ON g.id = m.group_id
                    WHERE m.user_id = u.id AND g.source = 'scim' AND g.deleted_at IS NULL AND ${condition})`,
      },
    ],
  ]),
};

/** The accounts that SCIM manages, without deleted ones. */
@Injectable()
export class ScimUserStore {
  constructor(private readonly session: DatabaseSession) {}

  find(id: number): Promise<ScimUser | null> {
    return this.session.firstRow<ScimUser>(`SELECT ${USER_COLUMNS} ${USER_SOURCE} WHERE u.id = $1`, [id]);
  }

  /** Finds a user and locks it until the transaction ends. */
  async lock(id: number): Promise<ScimUser | null> {
    await this.session.query('SELECT FROM scim_users WHERE user_id = $1 FOR UPDATE', [id]);
    return this.find(id);
  }

  /** Finds and locks an inactive user by external id. Usually finds the user by name if an external id is missing. */
  async lockInactive({ userName, externalId }: Pick<ScimUser, 'userName' | 'externalId'>) {
    const inactiveRow = await this.session.firstRow<{ id: number }>(
      `SELECT u.id ${USER_SOURCE} WHERE NOT u.is_active AND (s.external_id = $1 OR (
         (s.external_id IS NULL OR $1::text IS NULL) AND lower(u.username COLLATE "C") = lower($2 COLLATE "C")
         AND NOT EXISTS (SELECT FROM oidc_people o WHERE o.user_id = u.id AND o.subject IS DISTINCT FROM $1)))
       ORDER BY s.external_id = $1 DESC NULLS LAST LIMIT 1 FOR UPDATE OF s`,
      [externalId, userName],
    );
    return inactiveRow && this.find(inactiveRow.id);
  }

  list(request: ListRequest): Promise<ListResult<ScimUser>> {
    const query = {
      columns: USER_COLUMNS,
      sourceSql: `${USER_SOURCE} WHERE true`,
      id: 'u.id',
      attributes: USER_FILTER_ATTRIBUTES,
    };
    return filteredPage(this.session, query, request);
  }

  /** Makes an account a user of SCIM, or changes its attributes. @returns false: another user has the external id */
  async saveUser(id: number, profile: Omit<UserAttributes, 'userName' | 'active'>, now: Date): Promise<boolean> {
    const { externalId, name, displayName, emails } = profile;
    const nameValues = [name.formatted, name.familyName, name.givenName, displayName];
    const savedRows = await this.session.queryUnlessTaken(
      'scim_users_external_id',
      `INSERT INTO scim_users (user_id, external_id, formatted_name, family_name, given_name, display_name, emails, changed_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (user_id) DO UPDATE SET external_id = $2, formatted_name = $3, family_name = $4, given_name = $5,
         display_name = $6, emails = $7, changed_at = $8`,
      [id, externalId, ...nameValues, JSON.stringify(emails), now],
    );
    return savedRows !== null;
  }

  /** The subject of the provider's person that is linked to the account; null: there is no link. */
  async linkedSubject(id: number): Promise<string | null> {
    const select = 'SELECT subject FROM oidc_people WHERE user_id = $1';
    return (await this.session.firstRow<{ subject: string }>(select, [id]))?.subject ?? null;
  }

  async remove(id: number): Promise<void> {
    await this.session.query('DELETE FROM scim_users WHERE user_id = $1', [id]);
  }
}

const GROUP_COLUMNS = `
  g.id, g.name, g.external_id AS "externalId", NULL AS "memberIds", g.version, g.created_at AS "createdAt",
         coalesce(g.changed_at, g.created_at) AS "changedAt"`;

const GROUP_SOURCE = `
  FROM groups g WHERE g.source = 'scim' AND g.deleted_at IS NULL`;

const GROUP_FILTER_ATTRIBUTES: FilterFields = {
  columns: new Map<string, Column>([
    ['id', { type: 'id', sql: 'g.id' }],
    // Names are compared in the same way as by their unique index.
    ['displayname', { type: 'text', sql: 'g.name', expression: (text) => `lower(${text} COLLATE "C")` }],
    ['externalid', { type: 'text', sql: 'g.external_id' }],
    ['meta.created', { type: 'time', sql: 'g.created_at' }],
    ['meta.lastmodified', { type: 'time', sql: 'coalesce(g.changed_at, g.created_at)' }],
  ]),
  listAttributes: new Map([
    [
      'members',
      {
        columns: new Map<string, Column>([
          ['value', { type: 'id', sql: 'm.user_id' }],
          ['type', caseInsensitive(`'User'`)],
        ]),
        existsSql: (condition) => `EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND ${condition})`,
      },
    ],
  ]),
};

@Injectable()
export class ScimGroupStore {
  constructor(private readonly session: DatabaseSession) {}

  async find(id: number, includeMembers: boolean): Promise<ScimGroup | null> {
    const group = await this.findOne(id);
    return group !== null && includeMembers ? { ...group, memberIds: await this.memberIds(id, null) } : group;
  }

  /** Finds a group without its members, and locks it until the transaction ends. */
  lock(id: number): Promise<ScimGroup | null> {
    return this.findOne(id, 'FOR UPDATE');
  }

  private findOne(id: number, lock = ''): Promise<ScimGroup | null> {
    return this.session.firstRow<ScimGroup>(`SELECT ${GROUP_COLUMNS} ${GROUP_SOURCE} AND g.id = $1 ${lock}`, [id]);
  }

  /** A page of groups. With `includeMembers` the page ends early, with the group that reaches MAX_LISTED_MEMBERS members. */
  async list(request: ListRequest, includeMembers: boolean): Promise<ListResult<ScimGroup>> {
    const query = { columns: GROUP_COLUMNS, sourceSql: GROUP_SOURCE, id: 'g.id', attributes: GROUP_FILTER_ATTRIBUTES };
    const { total, resources } = await filteredPage<ScimGroup>(this.session, query, request);
    return { total, resources: includeMembers ? await this.withMembers(resources) : resources };
  }

  /** Ids of members. @param candidateIds ids to which the result is limited; null: no limit */
  async memberIds(id: number, candidateIds: readonly number[] | null): Promise<number[]> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT user_id AS id FROM group_members
        WHERE group_id = $1 AND user_id IS NOT NULL AND ($2::integer[] IS NULL OR user_id = ANY ($2)) ORDER BY user_id`,
      [id, candidateIds],
    );
    return rows.map(({ id: userId }) => userId);
  }

  /** The given ids that belong to users of SCIM. Locks these users until the transaction ends. */
  async lockUsers(ids: readonly number[]): Promise<ReadonlySet<number>> {
    const rows = await this.session.query<{ id: number }>(
      'SELECT user_id AS id FROM scim_users WHERE user_id = ANY ($1) ORDER BY user_id FOR KEY SHARE',
      [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** The first groups with their members, up to and including the group that reaches MAX_LISTED_MEMBERS members. */
  private async withMembers(groups: readonly ScimGroup[]): Promise<ScimGroup[]> {
    const rows = await this.session.query<{ id: number; members: number[] }>(
      `SELECT group_id AS id, array_agg(user_id ORDER BY user_id) AS members
         FROM group_members
        WHERE user_id IS NOT NULL AND group_id IN (
          SELECT id FROM (
            SELECT group_id AS id, sum(count(*)) OVER (ORDER BY group_id) - count(*) AS before
              FROM group_members WHERE group_id = ANY ($1) GROUP BY group_id) AS counted
           WHERE before < $2)
        GROUP BY group_id ORDER BY group_id`,
      [groups.map(({ id }) => id), MAX_LISTED_MEMBERS],
    );
    const members = new Map(rows.map((row) => [row.id, row.members]));
    const readCount = rows.reduce((count, row) => count + row.members.length, 0);
    const lastId = readCount < MAX_LISTED_MEMBERS ? Infinity : (rows.at(-1)?.id ?? Infinity);
    const listedGroups = groups.filter(({ id }) => id <= lastId);
    return listedGroups.map((group) => ({ ...group, memberIds: members.get(group.id) ?? [] }));
  }
}
