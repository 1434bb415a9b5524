import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { Descriptions } from '../../trino-rules/model/snapshot-export.js';
import { AccessFileStore } from '../domain/access-file-store.js';
import { POLICY_WRITERS_LOCK } from './postgres-policy-store.js';

interface DescriptionRow {
  of: keyof Descriptions;
  id: number;
  description: string;
}

@Injectable()
export class PostgresAccessFileStore extends AccessFileStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async descriptions(): Promise<Descriptions> {
    const rows = await this.session.manager.query<DescriptionRow[]>(
      ['groups', 'grants', 'policies']
        .map((table) => `SELECT '${table}' AS of, id, description FROM ${table} WHERE description IS NOT NULL`)
        .join(' UNION ALL '),
    );
    const of = (table: keyof Descriptions) =>
      new Map(rows.filter((row) => row.of === table).map(({ id, description }) => [id, description]));
    return { groups: of('groups'), grants: of('grants'), policies: of('policies') };
  }

  /** In the order in which other writers lock, so that none of them waits for this one while it is waited for. */
  override async lockWrites(): Promise<void> {
    await this.session.manager.query('SELECT pg_advisory_xact_lock($1)', [POLICY_WRITERS_LOCK]);
    await this.session.manager.query('SELECT id FROM groups ORDER BY id FOR UPDATE');
    await this.session.manager.query(
      'LOCK TABLE groups, group_members, grants, policies, policy_exceptions IN SHARE ROW EXCLUSIVE MODE',
    );
  }
}
