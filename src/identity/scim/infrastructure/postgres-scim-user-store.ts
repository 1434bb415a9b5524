import { Injectable } from '@nestjs/common';
import { DatabaseSession, violatedConstraint } from '../../../platform/infrastructure/database-session.js';
import type { Filter } from '../domain/filter.js';
import type { ListResult } from '../domain/list-request.js';
import { type ScimUser, ScimUserStore, type UserProfile } from '../domain/scim-user.js';
import { type Column, type Filterable, filterCondition, inAnyCase } from './filter-condition.js';

const FROM = `
  FROM scim_users s JOIN users u ON u.id = s.user_id`;

const SELECT = `
  SELECT u.id, u.username AS "userName", u.is_active AS active, u.created_at AS "createdAt", s.changed_at AS "changedAt",
         s.external_id AS "externalId", s.display_name AS "displayName", s.emails,
         json_build_object('formatted', s.formatted_name, 'familyName', s.family_name, 'givenName', s.given_name) AS name,
         (SELECT coalesce(json_agg(json_build_object('id', g.id, 'name', g.name) ORDER BY g.id), '[]')
            FROM group_members m JOIN groups g ON g.id = m.group_id
           WHERE m.user_id = u.id AND g.source = 'scim' AND g.deleted_at IS NULL) AS groups ${FROM}`;

const FILTERABLE: Filterable = {
  columns: new Map<string, Column>([
    ['id', { type: 'id', sql: 'u.id' }],
    // By the case of ASCII alone, and by an index: a name that only folds to the one asked for is somebody else's.
    ['username', { type: 'text', sql: 'u.username', expression: (side) => `lower(${side} COLLATE "C")` }],
    ['externalid', { type: 'text', sql: 's.external_id' }],
    ['displayname', inAnyCase('s.display_name')],
    ['name.formatted', inAnyCase('s.formatted_name')],
    ['name.familyname', inAnyCase('s.family_name')],
    ['name.givenname', inAnyCase('s.given_name')],
    ['active', { type: 'boolean', sql: 'u.is_active' }],
    ['meta.created', { type: 'time', sql: 'u.created_at' }],
    ['meta.lastmodified', { type: 'time', sql: 's.changed_at' }],
  ]),
  entries: new Map([
    [
      'emails',
      {
        columns: new Map<string, Column>([
          ['value', inAnyCase('e.value')],
          ['type', inAnyCase('e.type')],
          ['primary', { type: 'boolean', sql: 'e."primary"' }],
        ]),
        exists: (condition) =>
          `EXISTS (SELECT FROM jsonb_to_recordset(s.emails) AS e (value text, type text, "primary" boolean) WHERE ${condition})`,
      },
    ],
    [
      'groups',
      {
        columns: new Map<string, Column>([
          ['value', { type: 'id', sql: 'g.id' }],
          ['display', inAnyCase('g.name')],
        ]),
        exists: (condition) =>
          `EXISTS (SELECT FROM group_members m JOIN groups g ON g.id = m.group_id
                    WHERE m.user_id = u.id AND g.source = 'scim' AND g.deleted_at IS NULL AND ${condition})`,
      },
    ],
  ]),
};

@Injectable()
export class PostgresScimUserStore extends ScimUserStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async find(id: number): Promise<ScimUser | null> {
    const [user = null] = await this.session.manager.query<ScimUser[]>(`${SELECT} WHERE u.id = $1`, [id]);
    return user;
  }

  override async lock(id: number): Promise<ScimUser | null> {
    await this.session.manager.query('SELECT FROM scim_users WHERE user_id = $1 FOR UPDATE', [id]);
    return this.find(id);
  }

  override async lockInactive({ userName, externalId }: Pick<ScimUser, 'userName' | 'externalId'>) {
    const [found] = await this.session.manager.query<{ id: number }[]>(
      `SELECT u.id ${FROM} WHERE NOT u.is_active AND (s.external_id = $1 OR (
         (s.external_id IS NULL OR $1::text IS NULL) AND lower(u.username COLLATE "C") = lower($2 COLLATE "C")
         AND NOT EXISTS (SELECT FROM oidc_people o WHERE o.user_id = u.id AND o.subject IS DISTINCT FROM $1)))
       ORDER BY s.external_id = $1 DESC NULLS LAST LIMIT 1 FOR UPDATE OF s`,
      [externalId, userName],
    );
    return found === undefined ? null : this.find(found.id);
  }

  override async list(filter: Filter | null, offset: number, count: number): Promise<ListResult<ScimUser>> {
    const parameters: unknown[] = [];
    const where = filter === null ? 'true' : filterCondition(filter, FILTERABLE, parameters);
    const [{ total }] = await this.session.manager.query<[{ total: number }]>(
      `SELECT count(*)::integer AS total ${FROM} WHERE ${where}`,
      parameters,
    );
    if (total <= offset || count === 0) return { total, resources: [] };
    const resources = await this.session.manager.query<ScimUser[]>(
      `${SELECT} WHERE ${where} ORDER BY u.id OFFSET ${offset} LIMIT ${count}`,
      parameters,
    );
    return { total, resources };
  }

  override async put(id: number, profile: UserProfile, at: Date): Promise<boolean> {
    const { externalId, name, displayName, emails } = profile;
    const values = [
      externalId,
      name.formatted,
      name.familyName,
      name.givenName,
      displayName,
      JSON.stringify(emails),
      at,
    ];
    try {
      await this.session.manager.transaction((tx) =>
        tx.query(
          `INSERT INTO scim_users (user_id, external_id, formatted_name, family_name, given_name, display_name, emails, changed_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (user_id) DO UPDATE SET external_id = $2, formatted_name = $3, family_name = $4, given_name = $5,
             display_name = $6, emails = $7, changed_at = $8`,
          [id, ...values],
        ),
      );
      return true;
    } catch (error) {
      if (violatedConstraint(error) === 'scim_users_external_id') return false;
      throw error;
    }
  }

  override async linkedSubject(id: number): Promise<string | null> {
    const select = 'SELECT subject FROM oidc_people WHERE user_id = $1';
    const rows = await this.session.manager.query<{ subject: string }[]>(select, [id]);
    return rows[0]?.subject ?? null;
  }

  override async remove(id: number): Promise<void> {
    await this.session.manager.query('DELETE FROM scim_users WHERE user_id = $1', [id]);
  }
}
