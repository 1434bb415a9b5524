import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { PrincipalDirectory } from '../domain/admission-ports.js';

@Injectable()
export class PostgresPrincipalDirectory extends PrincipalDirectory {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async missing(principals: readonly PolicyPrincipal[]): Promise<PolicyPrincipal[]> {
    // Also where no group is named: a snapshot file locks the groups first, so that it never waits for one that waits for it.
    await this.session.manager.query('LOCK TABLE groups IN ROW SHARE MODE');
    const ids = (type: 'user' | 'group') =>
      principals.flatMap((principal) => (principal.type === type ? [principal.id] : []));
    const users = await this.found('SELECT id FROM users WHERE id = ANY($1)', ids('user'));
    const groups = await this.found(
      'SELECT id FROM groups WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id FOR SHARE',
      ids('group'),
    );
    return principals.filter(
      (principal) =>
        (principal.type === 'user' && !users.has(principal.id)) ||
        (principal.type === 'group' && !groups.has(principal.id)),
    );
  }

  private async found(query: string, ids: readonly number[]): Promise<Set<number>> {
    if (ids.length === 0) return new Set();
    const rows = await this.session.manager.query<{ id: number }[]>(query, [ids]);
    return new Set(rows.map(({ id }) => id));
  }
}
