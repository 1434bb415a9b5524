import type { EntityManager } from 'typeorm';

/**
 * Every change that could take an administrator away locks all of them who have a password, in one order: the second of two sees the
 * first one's result. @returns their ids
 */
export async function lockAdministrators(tx: EntityManager): Promise<number[]> {
  const rows = await tx.query<{ id: number }[]>(
    `SELECT id FROM users WHERE role = 'admin' AND is_active AND password_hash IS NOT NULL ORDER BY id FOR NO KEY UPDATE`,
  );
  return rows.map(({ id }) => id);
}
