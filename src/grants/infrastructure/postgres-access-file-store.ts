import { Injectable } from '@nestjs/common';
import { DatabaseSession, sqlState } from '../../platform/database/database-session.js';
import type { Descriptions } from '../../trino-rules/model/snapshot-export.js';
import { AccessFileStore } from '../domain/access-file-store.js';

/** Below the statement timeout, which says less about the reason. A role may have another one. */
const LOCK_TIMEOUT = '25s';
/** PostgreSQL's SQLSTATE when it passes. */
const LOCK_NOT_AVAILABLE = '55P03';

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

  override async managedGroups(): Promise<ReadonlySet<number>> {
    const rows = await this.session.manager.query<{ id: number }[]>(
      `SELECT id FROM groups WHERE source <> 'local' AND deleted_at IS NULL`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  override async readOneState(): Promise<void> {
    await this.session.manager.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
  }

  override async lockWrites(): Promise<void> {
    await this.session.manager.query(
      `SELECT set_config('lock_timeout', $1, true) WHERE current_setting('lock_timeout') = '0'`,
      [LOCK_TIMEOUT],
    );
    try {
      await this.lock();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      throw new Error('groups and grants are being written by others: nothing was changed, try again later', {
        cause: error,
      });
    }
  }

  /**
   * The groups first: who locks more than one thing that this transaction needs has locked the groups before (see
   * `PostgresPrincipalDirectory`). EXCLUSIVE also waits for locked rows.
   */
  private async lock(): Promise<void> {
    await this.session.manager.query('LOCK TABLE groups IN EXCLUSIVE MODE');
    await this.session.manager.query(
      'LOCK TABLE group_members, grants, policies, policy_exceptions IN SHARE ROW EXCLUSIVE MODE',
    );
  }
}
