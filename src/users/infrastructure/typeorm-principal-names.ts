import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { type HeldName, PrincipalNames } from '../domain/account.js';

@Injectable()
export class TypeormPrincipalNames extends PrincipalNames {
  constructor(private readonly session: DatabaseSession) {
    super();
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
    // Existing rows stay: a name is never given back.
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
