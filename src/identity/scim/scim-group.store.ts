import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import { MOST_LISTED_MEMBERS, type ScimGroup } from './domain/group-changes.js';
import type { ListRequest, ListResult } from './domain/list-request.js';
import { type Column, type Filterable, filteredPage, inAnyCase } from './infrastructure/filter-condition.js';

const COLUMNS = `
  g.id, g.name, g.external_id AS "externalId", NULL AS members, g.version, g.created_at AS "createdAt",
         coalesce(g.changed_at, g.created_at) AS "changedAt"`;

const FROM = `
  FROM groups g WHERE g.source = 'scim' AND g.deleted_at IS NULL`;

const FILTERABLE: Filterable = {
  columns: new Map<string, Column>([
    ['id', { type: 'id', sql: 'g.id' }],
    // Names are compared as in the index that makes them unique.
    ['displayname', { type: 'text', sql: 'g.name', expression: (side) => `lower(${side} COLLATE "C")` }],
    ['externalid', { type: 'text', sql: 'g.external_id' }],
    ['meta.created', { type: 'time', sql: 'g.created_at' }],
    ['meta.lastmodified', { type: 'time', sql: 'coalesce(g.changed_at, g.created_at)' }],
  ]),
  entries: new Map([
    [
      'members',
      {
        columns: new Map<string, Column>([
          ['value', { type: 'id', sql: 'm.user_id' }],
          ['type', inAnyCase(`'User'`)],
        ]),
        exists: (condition) => `EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND ${condition})`,
      },
    ],
  ]),
};

/** Reads of the groups that SCIM manages. */
@Injectable()
export class ScimGroupStore {
  constructor(private readonly session: DatabaseSession) {}

  async find(id: number, withMembers: boolean): Promise<ScimGroup | null> {
    const group = await this.one(id);
    return group !== null && withMembers ? { ...group, members: await this.members(id, null) } : group;
  }

  /** Finds a group without members; nobody else changes it until the transaction ends. */
  lock(id: number): Promise<ScimGroup | null> {
    return this.one(id, 'FOR UPDATE');
  }

  private async one(id: number, lock = ''): Promise<ScimGroup | null> {
    const find = `SELECT ${COLUMNS} ${FROM} AND g.id = $1 ${lock}`;
    return (await this.session.manager.query<ScimGroup[]>(find, [id]))[0] ?? null;
  }

  /** With members, the page ends early where they would be more than MOST_LISTED_MEMBERS. */
  async list(
    { filter, ...page }: Pick<ListRequest, 'filter' | 'offset' | 'count'>,
    withMembers: boolean,
  ): Promise<ListResult<ScimGroup>> {
    const listed = { columns: COLUMNS, source: FROM, id: 'g.id', filterable: FILTERABLE };
    const { total, resources } = await filteredPage<ScimGroup>(this.session.manager, listed, filter, page);
    return { total, resources: withMembers ? await this.filled(resources) : resources };
  }

  /** Ids of members. @param among only these; null: all */
  async members(id: number, among: readonly number[] | null): Promise<number[]> {
    const rows = await this.session.manager.query<{ id: number }[]>(
      `SELECT user_id AS id FROM group_members
        WHERE group_id = $1 AND user_id IS NOT NULL AND ($2::integer[] IS NULL OR user_id = ANY ($2)) ORDER BY user_id`,
      [id, among],
    );
    return rows.map(({ id: userId }) => userId);
  }

  /** The ids among these that are users of SCIM, which stay so until the transaction ends. */
  async users(ids: readonly number[]): Promise<ReadonlySet<number>> {
    const rows = await this.session.manager.query<{ id: number }[]>(
      'SELECT user_id AS id FROM scim_users WHERE user_id = ANY ($1) ORDER BY user_id FOR KEY SHARE',
      [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** The first of the groups with their members, at least one. */
  private async filled(groups: readonly ScimGroup[]): Promise<ScimGroup[]> {
    const rows = await this.session.manager.query<{ id: number; members: number[] }[]>(
      `SELECT group_id AS id, array_agg(user_id ORDER BY user_id) AS members
         FROM group_members
        WHERE user_id IS NOT NULL AND group_id IN (
          SELECT id FROM (
            SELECT group_id AS id, sum(count(*)) OVER (ORDER BY group_id) - count(*) AS before
              FROM group_members WHERE group_id = ANY ($1) GROUP BY group_id) AS counted
           WHERE before < $2)
        GROUP BY group_id ORDER BY group_id`,
      [groups.map(({ id }) => id), MOST_LISTED_MEMBERS],
    );
    const members = new Map(rows.map((row) => [row.id, row.members]));
    const read = rows.reduce((count, row) => count + row.members.length, 0);
    const last = read < MOST_LISTED_MEMBERS ? Infinity : (rows.at(-1)?.id ?? Infinity);
    return groups.filter(({ id }) => id <= last).map((group) => ({ ...group, members: members.get(group.id) ?? [] }));
  }
}
