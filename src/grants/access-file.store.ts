import { Injectable } from '@nestjs/common';
import { DatabaseSession, LOCK_NOT_AVAILABLE, sqlState } from '../platform/database/database-session.js';
import type { Descriptions } from '../trino-rules/model/snapshot-export.js';
import { GUARANTEES_LOCK } from './guarantee.store.js';

/** Shorter than the statement timeout, whose error does not name the reason. A lock timeout of the role itself takes precedence. */
const LOCK_TIMEOUT = '25s';

interface DescriptionRow {
  of: keyof Descriptions;
  id: number;
  description: string;
}

/** Reads and locks for exporting and applying snapshot files, besides the snapshot itself. */
@Injectable()
export class AccessFileStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Descriptions of all rows, including revoked, removed and deleted ones. */
  async descriptions(): Promise<Descriptions> {
    const rows = await this.session.query<DescriptionRow>(
      ['groups', 'grants', 'policies', 'guarantees']
        .map((table) => `SELECT '${table}' AS of, id, description FROM ${table} WHERE description IS NOT NULL`)
        .join(' UNION ALL '),
    );
    const of = (table: keyof Descriptions) =>
      new Map(rows.filter((row) => row.of === table).map(({ id, description }) => [id, description]));
    return { groups: of('groups'), grants: of('grants'), policies: of('policies'), guarantees: of('guarantees') };
  }

  /** Ids of groups whose members the identity provider decides. */
  async managedGroups(): Promise<ReadonlySet<number>> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT id FROM groups WHERE source <> 'local' AND deleted_at IS NULL`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Called at the beginning of a transaction: all its statements then read one state of the database. */
  async readOneState(): Promise<void> {
    await this.session.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
  }

  /**
   * Until this transaction ends, no other one can change groups, grants, policies or guarantees. The groups are locked first, because every
   * transaction that locks several of these tables does so (see `GroupStore.findMissing`). EXCLUSIVE also waits for locked rows.
   * @throws Error when the locks are not free in time
   */
  async lockWrites(): Promise<void> {
    await this.session.query(
      `SELECT set_config('lock_timeout', $1, true) WHERE current_setting('lock_timeout') = '0'`,
      [LOCK_TIMEOUT],
    );
    try {
      await this.session.query('LOCK TABLE groups IN EXCLUSIVE MODE');
      await this.session.query(
        'LOCK TABLE group_members, grants, policies, policy_exceptions IN SHARE ROW EXCLUSIVE MODE',
      );
      await this.session.query('SELECT pg_advisory_xact_lock($1)', [GUARANTEES_LOCK]);
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      throw new Error('groups and grants are being written by others: nothing was changed, try again later', {
        cause: error,
      });
    }
  }
}
