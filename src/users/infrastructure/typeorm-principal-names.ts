import { Injectable } from '@nestjs/common';
import { DatabaseSession, violatedConstraint } from '../../platform/infrastructure/database-session.js';
import { accountKey } from '../domain/account-name.js';
import { type Account, type HeldName, type NameHolder, PrincipalNames } from '../domain/account.js';

@Injectable()
export class TypeormPrincipalNames extends PrincipalNames {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async claimForAccounts(names: readonly string[], at: Date): Promise<Map<string, NameHolder>> {
    // In one order, so that two lists of the same names never wait for each other in a circle.
    const claimed = await this.session.manager.query<{ name: string }[]>(
      `INSERT INTO principal_names (name, holder, claimed_at, account_key)
       SELECT name, 'account', $3::timestamptz, key FROM unnest($1::text[], $2::text[]) AS asked (name, key) ORDER BY key
       ON CONFLICT DO NOTHING RETURNING name`,
      [names, names.map(accountKey), at],
    );
    const own = new Set(claimed.map(({ name }) => name));
    return this.holders(names.filter((name) => !own.has(name)));
  }

  override async rename({ id, username }: Pick<Account, 'id' | 'username'>, next: string, at: Date) {
    const respelled = await this.respelled(id, username, next);
    if (!respelled) {
      const [holder] = (await this.claimForAccounts([next], at)).values();
      if (holder !== undefined) return holder;
    }
    await this.session.manager.query('UPDATE principal_names SET former_of = $2 WHERE name = $1 AND name <> $3', [
      username,
      id,
      next,
    ]);
    return null;
  }

  override async release({ id, username }: Pick<Account, 'id' | 'username'>, next: string): Promise<boolean> {
    if (!(await this.respell('name = $3', [next, accountKey(next), username]))) return false;
    await this.session.changed('DELETE FROM principal_names WHERE former_of = $1', [id]);
    return true;
  }

  override async free(id: number, name: string): Promise<boolean> {
    const freed = 'DELETE FROM principal_names WHERE former_of = $1 AND name = $2';
    return (await this.session.changed(freed, [id, name])) === 1;
  }

  /** The account's own name in other case, or one that it had before. False: it is neither, or an engine principal has that spelling. */
  private respelled(id: number, username: string, next: string): Promise<boolean> {
    return this.respell('account_key = $2 AND (name = $3 OR former_of = $4)', [next, accountKey(next), username, id]);
  }

  /** @param values the next name, its key, and what the condition names. False: no row is such, or another has the name */
  private async respell(condition: string, values: readonly unknown[]): Promise<boolean> {
    try {
      return await this.session.manager.transaction(async (tx) => {
        const [, changed] = await tx.query<[unknown, number]>(
          `UPDATE principal_names SET name = $1, account_key = $2, former_of = NULL WHERE ${condition}`,
          [...values],
        );
        return changed === 1;
      });
    } catch (error) {
      if (violatedConstraint(error) === null) throw error;
      return false;
    }
  }

  /** By the name that is asked for; in any case. */
  private async holders(names: readonly string[]): Promise<Map<string, NameHolder>> {
    if (names.length === 0) return new Map();
    const held = await this.session.manager.query<(NameHolder & { asked: string })[]>(
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
    return new Map(held.map(({ asked, ...holder }) => [asked, holder]));
  }

  override async claimForEngine(names: readonly string[], at: Date): Promise<HeldName[]> {
    if (names.length === 0) return [];
    // In one order, so that two claims of the same names never wait for each other in a circle.
    await this.session.manager.query(
      `INSERT INTO principal_names (name, holder, claimed_at)
       SELECT DISTINCT name, 'engine', $2::timestamptz FROM unnest($1::text[]) AS asked (name) ORDER BY name
       ON CONFLICT DO NOTHING`,
      [names, at],
    );
    return this.closedToEngine(names);
  }

  override closedToEngine(names: readonly string[]): Promise<HeldName[]> {
    return this.session.manager.query<HeldName[]>(
      `SELECT held.name, held.holder FROM principal_names AS held
       JOIN unnest($1::text[]) AS asked (name) ON lower(held.name COLLATE "C") = lower(asked.name COLLATE "C")
       WHERE held.holder <> 'engine' OR held.name <> asked.name
       ORDER BY held.name`,
      [names],
    );
  }
}
