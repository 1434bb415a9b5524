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
import { principalForm } from './infrastructure/principal-columns.js';

const SELECT_GROUPS = `
  SELECT g.id, g.name, g.description, g.source, g.external_id AS "externalId", g.created_at AS "createdAt",
         (SELECT count(*)::integer FROM group_members WHERE group_id = g.id) AS "memberCount"
    FROM groups g WHERE g.deleted_at IS NULL`;

/** Revoked grants, and removed policies and guarantees, do not count. Expired grants do, because they are listed with the group's name. */
const USES = `
  SELECT 'grant' AS kind, id FROM grants WHERE (group_id = $1 OR as_group_id = $1) AND revoked_at IS NULL
  UNION SELECT 'policy', id FROM policies WHERE (group_id = $1 OR as_group_id = $1) AND removed_at IS NULL
  UNION SELECT 'policy', p.id FROM policy_exceptions e JOIN policies p ON p.id = e.policy_id
         WHERE e.group_id = $1 AND p.removed_at IS NULL
  UNION SELECT 'guarantee', id FROM guarantees WHERE removed_at IS NULL
     AND jsonb_path_exists(definition, '$.** ? (@.type == "group" && @.id == $group)', jsonb_build_object('group', $1::integer))
  ORDER BY kind, id LIMIT 10`;

/** Groups. A deleted group counts as missing. */
@Injectable()
export class GroupStore {
  constructor(private readonly session: DatabaseSession) {}

  /** The new groups in the order of the request; null: another group has that name, compared without case. */
  async create(groups: readonly NewGroup[], at: Date): Promise<(Group | null)[]> {
    const made = await this.session.query<{ id: number }>(
      `INSERT INTO groups (name, description, source, external_id, created_at)
       SELECT name, description, source, external_id, $5::timestamptz
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY
              AS asked (name, description, source, external_id, place)
        ORDER BY place
       ON CONFLICT (lower(name COLLATE "C")) WHERE deleted_at IS NULL DO NOTHING RETURNING id`,
      [
        ...(groups.length === 0
          ? [[], [], [], []]
          : columnArrays(groups.map((each) => [each.name, each.description, each.source, each.externalId]))),
        at,
      ],
    );
    const ids = made.map(({ id }) => id);
    const rows = await this.session.query<Group>(`${SELECT_GROUPS} AND g.id = ANY ($1)`, [ids]);
    const created = new Map(rows.map((group) => [group.name, group]));
    return groups.map(({ name }) => {
      const group = created.get(name) ?? null;
      created.delete(name);
      return group;
    });
  }

  change(id: number, change: GroupChange, at: Date): Promise<Group | 'missing' | 'name-taken'> {
    return this.session.run(async () => {
      const present = await this.lockGroup(id);
      const group = present === 'live' ? await this.find(id) : null;
      if (group === null) return 'missing';
      const changed = { ...group, ...change };
      return (await this.write(changed, at)) ? changed : 'name-taken';
    });
  }

  /** `uses`: the first of the unrevoked grants and policies that refer to the group. `gone`: it was deleted before. */
  delete(id: number, at: Date): Promise<'deleted' | 'gone' | 'missing' | { uses: GroupUse[] }> {
    return this.session.run(async () => {
      const present = await this.lockGroup(id);
      if (present !== 'live') return present;
      const uses = await this.session.query<GroupUse>(USES, [id]);
      if (uses.length > 0) return { uses };
      await this.session.query('DELETE FROM group_members WHERE group_id = $1', [id]);
      await this.session.query('UPDATE groups SET deleted_at = $2 WHERE id = $1', [id, at]);
      return 'deleted';
    });
  }

  find(id: number): Promise<Group | null> {
    return this.session.firstRow<Group>(`${SELECT_GROUPS} AND g.id = $1`, [id]);
  }

  /** The name of a group that is not deleted. Cheaper than `find`, which counts members. */
  async nameOf(id: number): Promise<string | null> {
    const select = 'SELECT name FROM groups WHERE id = $1 AND deleted_at IS NULL';
    return (await this.session.firstRow<{ name: string }>(select, [id]))?.name ?? null;
  }

  /** Groups with these names, compared without case. */
  findNamed(names: readonly string[]): Promise<Group[]> {
    return this.session.query<Group>(
      `${SELECT_GROUPS} AND lower(g.name COLLATE "C") = ANY (SELECT lower(asked COLLATE "C") FROM unnest($1::text[]) AS asked)
       ORDER BY g.id`,
      [names],
    );
  }

  async list({ text, member }: GroupFilter, { limit, after }: PageRequest): Promise<Page<Group>> {
    const [userId, engineName] = member === null ? [null, null] : ofMember(member);
    const rows = await this.session.query<Group>(
      `${SELECT_GROUPS} AND g.id > $1
         AND ($2::text IS NULL OR strpos(lower(g.name), lower($2)) > 0)
         AND ($3::integer IS NULL OR g.id IN (SELECT group_id FROM group_members WHERE user_id = $3))
         AND ($4::text IS NULL OR g.id IN (SELECT group_id FROM group_members WHERE engine_name = $4))
       ORDER BY g.id LIMIT $5`,
      [after ?? 0, text, userId, engineName, limit + 1],
    );
    return pageOf(rows, limit, (group) => group.id);
  }

  /** Members ordered by name; null: no such group. */
  async members(id: number, { limit, after }: NamePageRequest): Promise<Page<Member> | null> {
    if ((await this.find(id)) === null) return null;
    const rows = await this.session.query<Member>(
      `SELECT principal, "isActive", "addedAt" FROM (
         SELECT coalesce(u.username, m.engine_name) COLLATE "C" AS name, ${principalForm('m.', 'named')} AS principal,
                u.is_active AS "isActive", m.added_at AS "addedAt"
           FROM group_members m LEFT JOIN users u ON u.id = m.user_id WHERE m.group_id = $1) AS member
        WHERE $2::text IS NULL OR name > $2 ORDER BY name LIMIT $3`,
      [id, after?.[0] ?? null, limit + 1],
    );
    return pageOf(rows, limit, ({ principal }) => [principal.name]);
  }

  /** For each membership whether it was added; null: no such group or account. The caller must have claimed names of engine principals. */
  addMembers(added: readonly Membership[], at: Date): Promise<(boolean | null)[]> {
    // Until the transaction ends these groups cannot be deleted.
    const lock = 'ORDER BY id FOR UPDATE';
    const statement = `INSERT INTO group_members (group_id, user_id, engine_name, added_at)
      SELECT group_id, user_id, engine_name, $4::timestamptz FROM ${ASKED} ON CONFLICT DO NOTHING`;
    return this.session.run(() => this.writeMembers(added, at, statement, lock));
  }

  /** For each membership whether it was removed; null: no such group or account. */
  removeMembers(removed: readonly Membership[], at: Date): Promise<(boolean | null)[]> {
    const statement = `DELETE FROM group_members
      WHERE (group_id, user_id) IN (SELECT group_id, user_id FROM ${ASKED} WHERE user_id IS NOT NULL)
         OR (group_id, engine_name) IN (SELECT group_id, engine_name FROM ${ASKED} WHERE engine_name IS NOT NULL)`;
    return this.writeMembers(removed, at, statement);
  }

  private async writeMembers(
    asked: readonly Membership[],
    at: Date,
    statement: string,
    lock?: string,
  ): Promise<(boolean | null)[]> {
    const isKnown = await this.findKnown(asked, lock);
    const rows = await this.session.query<Membership>(
      `WITH written AS (${statement} RETURNING group_id, user_id, engine_name),
         touched AS (UPDATE groups SET version = version + 1, changed_at = $4 WHERE id IN (SELECT group_id FROM written))
       SELECT group_id AS "groupId", ${principalForm('', 'unnamed')} AS member FROM written`,
      [...values(asked.filter(isKnown)), at],
    );
    const written = new Set(rows.map(keyOf));
    return asked.map((each) => (isKnown(each) ? written.delete(keyOf(each)) : null));
  }

  /**
   * The users and groups of `principals` that do not exist. Locks the existing groups until the transaction ends, so it must be called
   * before the transaction's writes. Engine principals are never missing: `users` claims their names.
   */
  async findMissing(principals: readonly PolicyPrincipal[]): Promise<PolicyPrincipal[]> {
    // Locked even if no group is named: applying a snapshot file locks this table first, and one order of locks prevents deadlocks.
    await this.session.query('LOCK TABLE groups IN ROW SHARE MODE');
    const ids = (type: 'user' | 'group') => principals.flatMap((named) => (named.type === type ? [named.id] : []));
    const known = await this.knownIds(ids('group'), ids('user'), 'ORDER BY id FOR SHARE');
    return principals.filter(
      (named) => (named.type === 'user' || named.type === 'group') && !known[named.type].has(named.id),
    );
  }

  /** Locks the group's row: until the transaction ends, nobody can delete it or name it in a new grant or policy. */
  private async lockGroup(id: number): Promise<'live' | 'gone' | 'missing'> {
    const select = 'SELECT deleted_at IS NULL AS is_live FROM groups WHERE id = $1 FOR UPDATE';
    const row = await this.session.firstRow<{ is_live: boolean }>(select, [id]);
    return row === null ? 'missing' : row.is_live ? 'live' : 'gone';
  }

  private async write({ id, name, description, externalId }: Group, at: Date): Promise<boolean> {
    const written = await this.session.queryUnlessTaken(
      'groups_name_in_any_case',
      'UPDATE groups SET name = $2, description = $3, external_id = $4, version = version + 1, changed_at = $5 WHERE id = $1',
      [id, name, description, externalId, at],
    );
    return written !== null;
  }

  /** Whether a membership's group and account exist. @param lock clause that locks the groups' rows until the transaction ends */
  private async findKnown(memberships: readonly Membership[], lock = ''): Promise<(membership: Membership) => boolean> {
    const groupIds = memberships.map(({ groupId }) => groupId);
    const userIds = memberships.flatMap(({ member }) => (member.type === 'user' ? [member.id] : []));
    const { group, user } = await this.knownIds(groupIds, userIds, lock);
    return ({ groupId, member }) => group.has(groupId) && (member.type === 'engine' || user.has(member.id));
  }

  private async knownIds(groupIds: readonly number[], userIds: readonly number[], lock: string) {
    const found = async (query: string, ids: readonly number[]): Promise<ReadonlySet<number>> => {
      const rows = ids.length === 0 ? [] : await this.session.query<{ id: number }>(query, [ids]);
      return new Set(rows.map(({ id }) => id));
    };
    const user = await found('SELECT id FROM users WHERE id = ANY ($1)', userIds);
    const group = await found(`SELECT id FROM groups WHERE id = ANY ($1) AND deleted_at IS NULL ${lock}`, groupIds);
    return { group, user };
  }
}

/** Selects memberships from the parameters of `values`. */
const ASKED = 'unnest($1::integer[], $2::integer[], $3::text[]) AS asked (group_id, user_id, engine_name)';

function values(memberships: readonly Membership[]): unknown[][] {
  const rows = memberships.map(({ groupId, member }) => [groupId, ...ofMember(member)]);
  return rows.length === 0 ? [[], [], []] : columnArrays(rows);
}

function ofMember(member: GroupMember): [number | null, string | null] {
  return member.type === 'user' ? [member.id, null] : [null, member.name];
}

function keyOf({ groupId, member }: Membership): string {
  return `${groupId} ${principalText(member)}`;
}
