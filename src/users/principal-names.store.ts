import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import { type Account, accountKey, type HeldName, type NameHolder } from './domain/account.js';

/** SQL for names with their holders, compared without case. $1: the names */
const HELD_NAMES = `principal_names AS held
  JOIN unnest($1::text[]) AS asked (name) ON lower(held.name COLLATE "C") = lower(asked.name COLLATE "C")`;

/** SQL condition: no engine principal can have the name. $2: service accounts, which no table refers to; $3: now */
const IS_TAKEN = `(held.holder <> 'engine' OR held.name <> asked.name
  AND (held.name = ANY ($2::text[]) OR is_engine_name_used(held.name, $3)))`;

/** The names of accounts and engine principals (programs), in one table. A name has one holder, whatever the case of its letters. */
@Injectable()
export class PrincipalNames {
  constructor(
    private readonly session: DatabaseSession,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** Claims names for accounts. @returns the names that others hold already, with their holders */
  async claimForAccounts(names: readonly string[]): Promise<Map<string, NameHolder>> {
    // A fixed order of insertion prevents deadlocks between concurrent calls.
    const claimedRows = await this.session.query<{ name: string }>(
      `INSERT INTO principal_names (name, holder, claimed_at, account_key)
       SELECT name, 'account', $3::timestamptz, key FROM unnest($1::text[], $2::text[]) AS asked (name, key) ORDER BY key
       ON CONFLICT DO NOTHING RETURNING name`,
      [names, names.map(accountKey), this.clock.now()],
    );
    const claimedNames = new Set(claimedRows.map(({ name }) => name));
    return this.findHolders(names.filter((name) => !claimedNames.has(name)));
  }

  /**
   * Renames an account and reserves its present name as a former one. `nextName` may also be a former name of the account or another spelling
   * of its name. @returns the holder that prevents the rename; null: the account has the name now
   */
  async rename({ id, username }: Pick<Account, 'id' | 'username'>, nextName: string): Promise<NameHolder | null> {
    const values = [nextName, accountKey(nextName), username, id];
    if (!(await this.changeName('account_key = $2 AND (name = $3 OR former_of = $4)', values))) {
      const [holder] = (await this.claimForAccounts([nextName])).values();
      if (holder !== undefined) return holder;
    }
    const update = 'UPDATE principal_names SET former_of = $2 WHERE name = $1 AND name <> $3';
    await this.session.query(update, [username, id, nextName]);
    return null;
  }

  /** Renames a deleted account, and frees its present and former names. @returns false: `nextName` has a holder */
  async releaseNames({ id, username }: Pick<Account, 'id' | 'username'>, nextName: string): Promise<boolean> {
    if (!(await this.changeName('name = $3', [nextName, accountKey(nextName), username]))) return false;
    await this.session.execute('DELETE FROM principal_names WHERE former_of = $1', [id]);
    return true;
  }

  /** Frees a former name of an account. @returns false: the account has no such former name */
  async freeFormerName(id: number, name: string): Promise<boolean> {
    const statement = 'DELETE FROM principal_names WHERE former_of = $1 AND name = $2';
    return (await this.session.execute(statement, [id, name])) === 1;
  }

  /** Changes the name in a row. @param values the new name, its key, and parameters of `condition` @returns false: no row matches, or the name has another holder */
  private async changeName(condition: string, values: unknown[]): Promise<boolean> {
    const update = `UPDATE principal_names SET name = $1, account_key = $2, former_of = NULL WHERE ${condition} RETURNING name`;
    return (await this.session.queryUnlessTaken(null, update, values))?.length === 1;
  }

  /** The holders of names, by the requested spelling. Names are compared without case. */
  private async findHolders(names: readonly string[]): Promise<Map<string, NameHolder>> {
    if (names.length === 0) return new Map();
    const holders = await this.session.query<NameHolder & { asked: string }>(
      `WITH same AS (
         SELECT asked.name AS asked, held.* FROM ${HELD_NAMES}
         UNION ALL
         SELECT asked.name, held.* FROM unnest($1::text[], $2::text[]) AS asked (name, key)
           JOIN principal_names held ON held.account_key = asked.key)
       SELECT asked, name, CASE WHEN former_of IS NULL THEN holder ELSE 'former' END AS holder,
              former_of AS "formerOf" FROM same`,
      [names, names.map(accountKey)],
    );
    return new Map(holders.map(({ asked, ...holder }) => [asked, holder]));
  }

  /**
   * Claims names for engine principals, never to be freed. Must be called before a grant or a policy names an engine principal. One that
   * nothing live names takes the requested spelling.
   * @returns the names that belong to an account, or to an engine principal in another spelling
   */
  async claimEngineNames(names: readonly string[]): Promise<HeldName[]> {
    if (names.length === 0) return [];
    // Locks and tests are separate statements: the test sees the entries of the transactions that held locks.
    const lockOthers = `SELECT FROM ${HELD_NAMES} WHERE held.name <> asked.name AND held.holder = 'engine' ORDER BY held.name FOR UPDATE OF held`;
    const otherSpellings = await this.session.query(lockOthers, [names]);
    if (otherSpellings.length > 0)
      await this.session.query(
        `UPDATE principal_names SET name = same.asked FROM (SELECT held.name, asked.name AS asked FROM ${HELD_NAMES} WHERE NOT ${IS_TAKEN}) AS same
          WHERE principal_names.name = same.name AND same.name <> same.asked`,
        this.valuesOf(names),
      );
    // A fixed order of insertion prevents deadlocks between concurrent calls.
    await this.session.query(
      `INSERT INTO principal_names (name, holder, claimed_at)
       SELECT DISTINCT name, 'engine', $2::timestamptz FROM unnest($1::text[]) AS asked (name) ORDER BY name
       ON CONFLICT DO NOTHING`,
      [names, this.clock.now()],
    );
    // No other transaction respells the names before this one ends.
    await this.session.query(`SELECT FROM ${HELD_NAMES} WHERE held.name = asked.name FOR KEY SHARE OF held`, [names]);
    return this.findTakenEngineNames(names);
  }

  /** Returns what claimEngineNames would return, but claims no names. */
  findTakenEngineNames(names: readonly string[]): Promise<HeldName[]> {
    return this.session.query<HeldName>(
      `SELECT held.name, held.holder FROM ${HELD_NAMES} WHERE ${IS_TAKEN} ORDER BY held.name`,
      this.valuesOf(names),
    );
  }

  private valuesOf(names: readonly string[]): unknown[] {
    return [names, this.settings.acl.serviceAccounts, this.clock.now()];
  }
}
