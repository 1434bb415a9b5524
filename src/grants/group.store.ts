import { Injectable } from '@nestjs/common';
import { type NamePageRequest, type Page, type PageRequest, pageOf } from '../kernel/page.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { type GroupMember, type PolicyPrincipal, principalText } from '../trino-rules/model/principal.js';
import {
  type Group,
  type GroupChange,
  type GroupFilter,
  type GroupUse,
  type Member,
  type Membership,
  type NewGroup,
} from './domain/group.js';
import { principalJson } from './infrastructure/principal-columns.js';

const SELECT_GROUPS = `
  SELECT g.id, g.name, g.description, g.source, g.external_id AS "externalId", g.created_at AS "createdAt",
         (SELECT count(*)::integer FROM group_members WHERE group_id = g.id) AS "memberCount"
    FROM groups g WHERE g.deleted_at IS NULL`;

/** Selects live grants, policies and guarantees that refer to a group. $1: the group; $2: now. Ended grants keep the group's name in its deleted row. */
const SELECT_USES = `
  SELECT 'grant' AS kind, id FROM grants
   WHERE (group_id = $1 OR as_group_id = $1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
  UNION SELECT 'policy', id FROM policies WHERE (group_id = $1 OR as_group_id = $1) AND removed_at IS NULL
  UNION SELECT 'policy', p.id FROM policy_exceptions e JOIN policies p ON p.id = e.policy_id
         WHERE e.group_id = $1 AND p.removed_at IS NULL
  UNION SELECT 'guarantee', id FROM guarantees WHERE removed_at IS NULL
     AND jsonb_path_exists(definition, '$.** ? (@.type == "group" && @.id == $group)', jsonb_build_object('group', $1::integer))
  ORDER BY kind, id LIMIT 10`;

@Injectable()
export class GroupStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Creates groups. @returns them in the order of the request, with null for a name that another group has, compared without case */
  async create(groups: readonly NewGroup[], now: Date): Promise<(Group | null)[]> {
    const newRows = groups.map(({ name, description, source, externalId }) => [name, description, source, externalId]);
    const insertedRows = await this.session.query<{ id: number }>(
      `INSERT INTO groups (name, description, source, external_id, created_at)
       SELECT name, description, source, external_id, $5::timestamptz
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY
              AS asked (name, description, source, external_id, place)
        ORDER BY place
       ON CONFLICT (lower(name COLLATE "C")) WHERE deleted_at IS NULL DO NOTHING RETURNING id`,
      [...columnArrays(newRows, 4), now],
    );
    const ids = insertedRows.map(({ id }) => id);
    const rows = await this.session.query<Group>(`${SELECT_GROUPS} AND g.id = ANY ($1)`, [ids]);
    const createdGroupsByName = new Map(rows.map((group) => [group.name, group]));
    return groups.map(({ name }) => {
      const group = createdGroupsByName.get(name) ?? null;
      createdGroupsByName.delete(name);
      return group;
    });
  }

  change(id: number, change: GroupChange, now: Date): Promise<Group | 'missing' | 'name-taken'> {
    return this.session.run(async () => {
      const state = await this.lockGroup(id);
      const group = state === 'live' ? await this.find(id) : null;
      if (group === null) return 'missing';
      const changedGroup = { ...group, ...change };
      const { name, description, externalId } = changedGroup;
      const updatedRows = await this.session.queryUnlessTaken(
        'groups_name_in_any_case',
        'UPDATE groups SET name = $2, description = $3, external_id = $4, version = version + 1, changed_at = $5 WHERE id = $1',
        [id, name, description, externalId, now],
      );
      return updatedRows === null ? 'name-taken' : changedGroup;
    });
  }

  /** Deletes a group that is not in use. `uses`: the first ten grants, policies or guarantees that refer to the group. `gone`: it was deleted before. */
  delete(id: number, now: Date): Promise<'deleted' | 'gone' | 'missing' | { uses: GroupUse[] }> {
    return this.session.run(async () => {
      const state = await this.lockGroup(id);
      if (state !== 'live') return state;
      const uses = await this.session.query<GroupUse>(SELECT_USES, [id, now]);
      if (uses.length > 0) return { uses };
      await this.session.query('DELETE FROM group_members WHERE group_id = $1', [id]);
      await this.session.query('UPDATE groups SET deleted_at = $2 WHERE id = $1', [id, now]);
      return 'deleted';
    });
  }

  find(id: number): Promise<Group | null> {
    return this.session.firstRow<Group>(`${SELECT_GROUPS} AND g.id = $1`, [id]);
  }

  /** The name of a group; null if it is unknown or deleted. Cheaper than `find`, which also counts members. */
  async nameOf(id: number): Promise<string | null> {
    const select = 'SELECT name FROM groups WHERE id = $1 AND deleted_at IS NULL';
    return (await this.session.firstRow<{ name: string }>(select, [id]))?.name ?? null;
  }

  findByNames(names: readonly string[]): Promise<Group[]> {
    return this.session.query<Group>(
      `${SELECT_GROUPS} AND lower(g.name COLLATE "C") = ANY (SELECT lower(asked COLLATE "C") FROM unnest($1::text[]) AS asked)
       ORDER BY g.id`,
      [names],
    );
  }

  async list({ text, member }: GroupFilter, { limit, after }: PageRequest): Promise<Page<Group>> {
    const [userId, engineName] = member === null ? [null, null] : memberValues(member);
    const rows = await this.session.query<Group>(
      `${SELECT_GROUPS} AND g.id > $1
         AND ($2::text IS NULL OR strpos(caseless(g.name), caseless($2)) > 0)
         AND ($3::integer IS NULL OR g.id IN (SELECT group_id FROM group_members WHERE user_id = $3))
         AND ($4::text IS NULL OR g.id IN (SELECT group_id FROM group_members WHERE engine_name = $4))
       ORDER BY g.id LIMIT $5`,
      [after ?? 0, text, userId, engineName, limit + 1],
    );
    return pageOf(rows, limit, (group) => group.id);
  }

  async listMembers(id: number, { limit, after }: NamePageRequest): Promise<Page<Member> | null> {
    if ((await this.find(id)) === null) return null;
    const rows = await this.session.query<Member>(
      `SELECT principal, "isActive", "addedAt" FROM (
         SELECT coalesce(u.username, m.engine_name) COLLATE "C" AS name, ${principalJson('m.', 'with-names')} AS principal,
                u.is_active AS "isActive", m.added_at AS "addedAt"
           FROM group_members m LEFT JOIN users u ON u.id = m.user_id WHERE m.group_id = $1) AS member
        WHERE $2::text IS NULL OR name > $2 ORDER BY name LIMIT $3`,
      [id, after?.[0] ?? null, limit + 1],
    );
    return pageOf(rows, limit, ({ principal }) => [principal.name]);
  }

  /** Adds members. @returns whether each is new; null: no such group or account. Engine principals must be admitted first (`admitPrincipals`). */
  addMembers(addedMemberships: readonly Membership[], now: Date): Promise<(boolean | null)[]> {
    const lock = 'ORDER BY id FOR UPDATE';
    const statement = `INSERT INTO group_members (group_id, user_id, engine_name, added_at)
      SELECT group_id, user_id, engine_name, $4::timestamptz FROM ${MEMBERSHIPS} ON CONFLICT DO NOTHING`;
    return this.session.run(() => this.writeMembers(addedMemberships, now, statement, lock));
  }

  /** Removes members. @returns whether each was a member; null: no such group or account */
  removeMembers(removedMemberships: readonly Membership[], now: Date): Promise<(boolean | null)[]> {
    const statement = `DELETE FROM group_members
      WHERE (group_id, user_id) IN (SELECT group_id, user_id FROM ${MEMBERSHIPS} WHERE user_id IS NOT NULL)
         OR (group_id, engine_name) IN (SELECT group_id, engine_name FROM ${MEMBERSHIPS} WHERE engine_name IS NOT NULL)`;
    return this.writeMembers(removedMemberships, now, statement);
  }

  private async writeMembers(
    memberships: readonly Membership[],
    now: Date,
    statement: string,
    lock?: string,
  ): Promise<(boolean | null)[]> {
    const isKnown = await this.existenceTest(memberships, lock);
    const rows = await this.session.query<Membership>(
      `WITH written AS (${statement} RETURNING group_id, user_id, engine_name),
         touched AS (UPDATE groups SET version = version + 1, changed_at = $4 WHERE id IN (SELECT group_id FROM written))
       SELECT group_id AS "groupId", ${principalJson('', 'ids-only')} AS member FROM written`,
      [...membershipValues(memberships.filter(isKnown)), now],
    );
    const writtenKeys = new Set(rows.map(keyOf));
    return memberships.map((each) => (isKnown(each) ? writtenKeys.delete(keyOf(each)) : null));
  }

  /**
   * The users and groups of `principals` that do not exist. Locks the existing groups until the transaction ends, so it must be called
   * before the transaction's writes. Engine principals are never missing, because a request creates those that it names.
   */
  async findMissing(principals: readonly PolicyPrincipal[]): Promise<PolicyPrincipal[]> {
    // The table is locked even if `principals` has no group. An import of a snapshot file locks it first, too: one order prevents deadlocks.
    await this.session.query('LOCK TABLE groups IN ROW SHARE MODE');
    const idsOf = (type: 'user' | 'group') => principals.flatMap((each) => (each.type === type ? [each.id] : []));
    const existingIds = await this.existingIds(idsOf('group'), idsOf('user'), 'ORDER BY id FOR SHARE');
    return principals.filter(
      (each) => (each.type === 'user' || each.type === 'group') && !existingIds[each.type].has(each.id),
    );
  }

  /** Locks the group's row: until the transaction ends, the group cannot be deleted or named in a new grant or policy. */
  private async lockGroup(id: number): Promise<'live' | 'gone' | 'missing'> {
    const select = 'SELECT deleted_at IS NULL AS is_live FROM groups WHERE id = $1 FOR UPDATE';
    const row = await this.session.firstRow<{ is_live: boolean }>(select, [id]);
    return row === null ? 'missing' : row.is_live ? 'live' : 'gone';
  }

  /** Makes a test whether a membership's group and account exist. @param lock SQL clause that locks the groups' rows; empty: no lock */
  private async existenceTest(memberships: readonly Membership[], lock = ''): Promise<(each: Membership) => boolean> {
    const groupIds = memberships.map(({ groupId }) => groupId);
    const userIds = memberships.flatMap(({ member }) => (member.type === 'user' ? [member.id] : []));
    const { group, user } = await this.existingIds(groupIds, userIds, lock);
    return ({ groupId, member }) => group.has(groupId) && (member.type === 'engine' || user.has(member.id));
  }

  private async existingIds(groupIds: readonly number[], userIds: readonly number[], lock: string) {
    const select = async (query: string, ids: readonly number[]): Promise<ReadonlySet<number>> => {
      const rows = ids.length === 0 ? [] : await this.session.query<{ id: number }>(query, [ids]);
      return new Set(rows.map(({ id }) => id));
    };
    const existingUserIds = await select('SELECT id FROM users WHERE id = ANY ($1)', userIds);
    const existingGroupIds = await select(
      `SELECT id FROM groups WHERE id = ANY ($1) AND deleted_at IS NULL ${lock}`,
      groupIds,
    );
    return { group: existingGroupIds, user: existingUserIds };
  }
}

/** The memberships of a request as a table; the parameters are made by `membershipValues`. */
const MEMBERSHIPS = 'unnest($1::integer[], $2::integer[], $3::text[]) AS asked (group_id, user_id, engine_name)';

function membershipValues(memberships: readonly Membership[]): unknown[][] {
  return columnArrays(
    memberships.map(({ groupId, member }) => [groupId, ...memberValues(member)]),
    3,
  );
}

function memberValues(member: GroupMember): [number | null, string | null] {
  return member.type === 'user' ? [member.id, null] : [null, member.name];
}

function keyOf({ groupId, member }: Membership): string {
  return `${groupId} ${principalText(member)}`;
}
