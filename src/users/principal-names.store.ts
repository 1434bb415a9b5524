import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { DatabaseSession } from '../platform/database/database-session.js';
import { type Account, accountKey, type HeldName, type NameHolder } from './domain/account.js';

/** The names of accounts and engine principals (programs), in one table. A name has one holder, whatever the case of its letters. */
@Injectable()
export class PrincipalNames {
  constructor(
    private readonly session: DatabaseSession,
    private readonly clock: Clock,
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
    await this.session.query('UPDATE principal_names SET former_of = $2 WHERE name = $1 AND name <> $3', [
      username,
      id,
      nextName,
    ]);
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
      `WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[]) AS asked (name, key)),
            same AS (
              SELECT asked.name AS asked, held.* FROM asked
                JOIN principal_names held ON lower(held.name COLLATE "C") = lower(asked.name COLLATE "C")
              UNION ALL
              SELECT asked.name, held.* FROM asked JOIN principal_names held ON held.account_key = asked.key)
       SELECT asked, name, CASE WHEN former_of IS NULL THEN holder ELSE 'former' END AS holder,
              former_of AS "formerOf" FROM same`,
      [names, names.map(accountKey)],
    );
    return new Map(holders.map(({ asked, ...holder }) => [asked, holder]));
  }

  /**
   * Claims names for engine principals, never to be freed. Must be called before a grant or a policy names an engine principal.
   * @returns the names that belong to an account, or to an engine principal in another spelling
   */
  async claimEngineNames(names: readonly string[]): Promise<HeldName[]> {
    if (names.length === 0) return [];
    // A fixed order of insertion prevents deadlocks between concurrent calls.
    await this.session.query(
      `INSERT INTO principal_names (name, holder, claimed_at)
       SELECT DISTINCT name, 'engine', $2::timestamptz FROM unnest($1::text[]) AS asked (name) ORDER BY name
       ON CONFLICT DO NOTHING`,
      [names, this.clock.now()],
    );
    return this.findTakenEngineNames(names);
  }

  /** Returns what claimEngineNames would return, but claims no names. */
  findTakenEngineNames(names: readonly string[]): Promise<HeldName[]> {
    return this.session.query<HeldName>(
      `SELECT held.name, held.holder FROM principal_names AS held
       JOIN unnest($1::text[]) AS asked (name) ON lower(held.name COLLATE "C") = lower(asked.name COLLATE "C")
       WHERE held.holder <> 'engine' OR held.name <> asked.name
       ORDER BY held.name`,
      [names],
    );
  }
}
