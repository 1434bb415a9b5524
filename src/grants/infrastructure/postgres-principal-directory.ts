import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { PrincipalDirectory } from '../domain/admission-ports.js';

@Injectable()
export class PostgresPrincipalDirectory extends PrincipalDirectory {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async missing(subjects: readonly PolicyPrincipal[]): Promise<PolicyPrincipal[]> {
    // Also where no group is named: a snapshot file locks the groups first, so that it never waits for one that waits for it.
    await this.session.manager.query('LOCK TABLE groups IN ROW SHARE MODE');
    const ids = (type: 'user' | 'group') => subjects.flatMap((subject) => (subject.type === type ? [subject.id] : []));
    const users = await this.found('SELECT id FROM users WHERE id = ANY($1)', ids('user'));
    const groups = await this.found(
      'SELECT id FROM groups WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id FOR SHARE',
      ids('group'),
    );
    return subjects.filter(
      (subject) =>
        (subject.type === 'user' && !users.has(subject.id)) || (subject.type === 'group' && !groups.has(subject.id)),
    );
  }

  private async found(query: string, ids: readonly number[]): Promise<Set<number>> {
    if (ids.length === 0) return new Set();
    const rows = await this.session.manager.query<{ id: number }[]>(query, [ids]);
    return new Set(rows.map(({ id }) => id));
  }
}
