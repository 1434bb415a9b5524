import type { Client } from 'pg';

/** A grant is whole with its audit event, which is written after it. */
export async function unauditedGrants(database: Client): Promise<unknown[]> {
  const { rows } = await database.query<{ id: number }>(
    `SELECT id FROM grants WHERE id::text NOT IN (SELECT subject_id FROM audit_events WHERE event = 'grant_created')`,
  );
  return rows;
}
