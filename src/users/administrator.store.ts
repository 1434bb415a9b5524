import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import { type AdministratorsGroup, type OutdatedRole, planRoles, type RoleChanges } from './domain/administrators.js';

/**
 * Locks all active administrators who have a password, before a change that could remove one, so that the second of two concurrent
 * changes sees the result of the first. The order is fixed, to prevent deadlocks. @returns their ids
 */
export async function lockAdministrators(session: DatabaseSession): Promise<number[]> {
  const rows = await session.query<{ id: number }>(
    `SELECT id FROM users WHERE role = 'admin' AND is_active AND password_hash IS NOT NULL ORDER BY id FOR NO KEY UPDATE`,
  );
  return rows.map(({ id }) => id);
}

/** Ids of the group's members; the parameters are those of `values`. Names are compared as the index compares them. */
const MEMBERS = `
  SELECT m.user_id FROM groups g JOIN group_members m ON m.group_id = g.id
   WHERE lower(g.name COLLATE "C") = lower($1::text COLLATE "C") AND g.source = $2 AND g.deleted_at IS NULL
     AND m.user_id IS NOT NULL`;

const OUTDATED = `
  WITH members AS (${MEMBERS})
  SELECT u.id, u.username, u.is_active AS "isActive", u.role = 'user' AS "isMember" FROM users u
   WHERE (u.role = 'user' AND u.id IN (SELECT user_id FROM members))
      OR (u.role_by_group AND u.id NOT IN (SELECT user_id FROM members))
   ORDER BY u.id`;

/** Roles of accounts. `role_by_group` marks the administrators whose role comes from the identity provider's group. */
@Injectable()
export class AdministratorStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Gives and takes roles, so that exactly the group's members have a role by the group. @param group null: none is configured */
  async follow(group: AdministratorsGroup | null): Promise<RoleChanges> {
    if ((await this.outdated(group)).length === 0) return { promoted: [], demoted: [] };
    return this.session.run(async () => {
      const administrators = await lockAdministrators(this.session);
      const changes = planRoles(await this.outdated(group, 'FOR NO KEY UPDATE OF u'), administrators);
      await this.set(changes.promoted, true);
      await this.set(changes.demoted, false);
      return changes;
    });
  }

  async isMember(userId: number, group: AdministratorsGroup): Promise<boolean> {
    const found = `SELECT FROM (${MEMBERS}) AS members WHERE user_id = $3`;
    return (await this.session.first(found, [...values(group), userId])) !== null;
  }

  /** Whether any active account is an administrator. */
  async exist(): Promise<boolean> {
    const found = `SELECT FROM users WHERE role = 'admin' AND is_active LIMIT 1`;
    return (await this.session.prepared('any_administrator', found, [])).length > 0;
  }

  private outdated(group: AdministratorsGroup | null, lock = ''): Promise<OutdatedRole[]> {
    return this.session.query<OutdatedRole>(`${OUTDATED} ${lock}`, values(group));
  }

  private async set(accounts: readonly OutdatedRole[], isByGroup: boolean): Promise<void> {
    if (accounts.length === 0) return;
    await this.session.query('UPDATE users SET role = $2, role_by_group = $3 WHERE id = ANY ($1)', [
      accounts.map(({ id }) => id),
      isByGroup ? 'admin' : 'user',
      isByGroup,
    ]);
  }
}

function values(group: AdministratorsGroup | null): unknown[] {
  return [group?.name ?? null, group?.source ?? null];
}
