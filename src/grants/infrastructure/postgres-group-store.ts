import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../../kernel/page.js';
import { DatabaseSession, violatedConstraint } from '../../platform/infrastructure/database-session.js';
import { type Group, type GroupChange, GroupStore, type Member } from '../domain/group.js';

const SELECT_GROUPS = `
  SELECT g.id, g.name, g.description, g.created_at AS "createdAt",
         (SELECT count(*)::integer FROM group_members WHERE group_id = g.id) AS "memberCount"
    FROM groups g WHERE g.deleted_at IS NULL`;

/** Revoked grants and removed policies do not count. Expired grants do, because they are listed with the group's name. */
const IN_USE = `
  EXISTS (SELECT FROM grants WHERE group_id = $1 AND revoked_at IS NULL)
  OR EXISTS (SELECT FROM policies WHERE group_id = $1 AND removed_at IS NULL)
  OR EXISTS (SELECT FROM policy_exceptions e JOIN policies p ON p.id = e.policy_id WHERE e.group_id = $1 AND p.removed_at IS NULL)`;

@Injectable()
export class PostgresGroupStore extends GroupStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async create(name: string, description: string | null, at: Date): Promise<Group | null> {
    const [made] = await this.session.manager.query<{ id: number }[]>(
      `INSERT INTO groups (name, description, created_at) VALUES ($1, $2, $3)
       ON CONFLICT (lower(name COLLATE "C")) WHERE deleted_at IS NULL DO NOTHING RETURNING id`,
      [name, description, at],
    );
    return made === undefined ? null : this.find(made.id);
  }

  override change(id: number, change: GroupChange): Promise<Group | 'missing' | 'name-taken'> {
    return this.session.run(async () => {
      const present = await this.locked(id);
      if (present !== 'live') return 'missing';
      const { name, description } = change;
      if (name !== undefined && !(await this.rename(id, name))) return 'name-taken';
      if (description !== undefined) {
        await this.session.manager.query('UPDATE groups SET description = $2 WHERE id = $1', [id, description]);
      }
      return (await this.find(id)) ?? 'missing';
    });
  }

  override delete(id: number, at: Date): Promise<'deleted' | 'gone' | 'missing' | 'in-use'> {
    return this.session.run(async () => {
      const present = await this.locked(id);
      if (present !== 'live') return present;
      const [use] = await this.session.manager.query<{ in_use: boolean }[]>(`SELECT ${IN_USE} AS in_use`, [id]);
      if (use?.in_use !== false) return 'in-use';
      await this.session.manager.query('DELETE FROM group_members WHERE group_id = $1', [id]);
      await this.session.manager.query('UPDATE groups SET deleted_at = $2 WHERE id = $1', [id, at]);
      return 'deleted';
    });
  }

  override async find(id: number): Promise<Group | null> {
    const [row] = await this.session.manager.query<Group[]>(`${SELECT_GROUPS} AND g.id = $1`, [id]);
    return row ?? null;
  }

  override async list({ limit, after }: PageRequest): Promise<Page<Group>> {
    const rows = await this.session.manager.query<Group[]>(`${SELECT_GROUPS} AND g.id > $1 ORDER BY g.id LIMIT $2`, [
      after ?? 0,
      limit + 1,
    ]);
    return pageOf(rows, limit, (group) => group.id);
  }

  override async members(id: number, { limit, after }: PageRequest): Promise<Page<Member> | null> {
    if ((await this.find(id)) === null) return null;
    const rows = await this.session.manager.query<Member[]>(
      `SELECT u.id, u.username AS name, u.is_active AS "isActive", m.added_at AS "addedAt"
         FROM group_members m JOIN users u ON u.id = m.user_id
        WHERE m.group_id = $1 AND u.id > $2 ORDER BY u.id LIMIT $3`,
      [id, after ?? 0, limit + 1],
    );
    return pageOf(rows, limit, (member) => member.id);
  }

  override addMember(id: number, userId: number, at: Date): Promise<'added' | 'was-member' | 'missing'> {
    return this.session.run(async () => {
      if ((await this.locked(id)) !== 'live' || !(await this.isAccount(userId))) return 'missing';
      const added = await this.session.manager.query<unknown[]>(
        'INSERT INTO group_members (group_id, user_id, added_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1',
        [id, userId, at],
      );
      return added.length > 0 ? 'added' : 'was-member';
    });
  }

  override async removeMember(id: number, userId: number): Promise<'removed' | 'was-none' | 'missing'> {
    if ((await this.find(id)) === null || !(await this.isAccount(userId))) return 'missing';
    const [removed] = await this.session.manager.query<[unknown[], number]>(
      'DELETE FROM group_members WHERE group_id = $1 AND user_id = $2 RETURNING 1',
      [id, userId],
    );
    return removed.length > 0 ? 'removed' : 'was-none';
  }

  /** Locks the group's row: until the transaction ends it cannot be deleted or named by a new grant or policy. */
  private async locked(id: number): Promise<'live' | 'gone' | 'missing'> {
    const [row] = await this.session.manager.query<{ is_live: boolean }[]>(
      'SELECT deleted_at IS NULL AS is_live FROM groups WHERE id = $1 FOR UPDATE',
      [id],
    );
    if (row === undefined) return 'missing';
    return row.is_live ? 'live' : 'gone';
  }

  private async rename(id: number, name: string): Promise<boolean> {
    try {
      await this.session.manager.query('UPDATE groups SET name = $2 WHERE id = $1', [id, name]);
      return true;
    } catch (error) {
      if (violatedConstraint(error) === 'groups_name_in_any_case') return false;
      throw error;
    }
  }

  private async isAccount(id: number): Promise<boolean> {
    const rows = await this.session.manager.query<unknown[]>('SELECT 1 FROM users WHERE id = $1', [id]);
    return rows.length > 0;
  }
}
