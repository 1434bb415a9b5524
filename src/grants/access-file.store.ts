import { Injectable } from '@nestjs/common';
import { Refused } from '../kernel/errors.js';
import { DatabaseSession, LOCK_NOT_AVAILABLE, sqlState } from '../platform/database/database-session.js';
import type { Descriptions } from '../trino-rules/model/snapshot-export.js';
import { GUARANTEES_LOCK } from './guarantee.store.js';

/** The longest wait for a lock, unless the database role has a lock timeout. Less than the statement timeout, whose error would not mention locks. */
const LOCK_TIMEOUT = '25s';

/** The queries and locks that exporting and applying snapshot files need, besides reading the snapshot itself. */
@Injectable()
export class AccessFileStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Descriptions by the ids of groups, grants, policies and guarantees, including rows that were revoked, removed or deleted. */
  async readDescriptions(): Promise<Descriptions> {
    const rows = await this.session.query<{ list: keyof Descriptions; id: number; description: string }>(
      ['groups', 'grants', 'policies', 'guarantees']
        .map((table) => `SELECT '${table}' AS list, id, description FROM ${table} WHERE description IS NOT NULL`)
        .join(' UNION ALL '),
    );
    const textsOf = (table: keyof Descriptions) =>
      new Map(rows.filter((row) => row.list === table).map(({ id, description }) => [id, description]));
    const [groups, grants] = [textsOf('groups'), textsOf('grants')];
    return { groups, grants, policies: textsOf('policies'), guarantees: textsOf('guarantees') };
  }

  async managedGroupIds(): Promise<ReadonlySet<number>> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT id FROM groups WHERE source <> 'local' AND deleted_at IS NULL`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Makes all statements of the transaction read one state of the database. Must be called at the beginning of the transaction. */
  async useRepeatableRead(): Promise<void> {
    await this.session.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
  }

  /**
   * Keeps other transactions from changing groups, grants, policies and guarantees until this one ends. Groups are locked first, as in every
   * transaction that locks several of these tables (see `GroupStore.findMissing`). EXCLUSIVE also waits for locked rows.
   * @throws Refused `busy` when the locks are not free in time
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
      const detail = 'groups and grants are being written by others: nothing was changed, try again later';
      throw new Refused('busy', { retryAfter: 5, detail, cause: error });
    }
  }
}
