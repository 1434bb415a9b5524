import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { PolicySubject, Principal } from '../domain/principal.js';
import type { Privilege } from '../domain/privilege.js';
import type { SnapshotGrant, SnapshotGroup, SnapshotPolicy, SnapshotUser } from '../domain/snapshot.js';
import type { Growth } from '../domain/size-forecast.js';
import { SnapshotStore, type WrittenSnapshot } from '../domain/snapshot-store.js';
import { type PolicyRuleColumns, ruleOf } from './postgres-policy-store.js';
import { type ResourceColumns, resourceOf } from './resource-columns.js';

interface PrincipalIds {
  user_id: number | null;
  group_id: number | null;
  engine_name: string | null;
}

interface Lists {
  users: { id: number; username: string; is_active: boolean }[];
  groups: { id: number; name: string; members: number[] }[];
  grants: (PrincipalIds & ResourceColumns & { id: number; privileges: Privilege[]; expires_at: string | null })[];
  policies: (PrincipalIds & PolicyRuleColumns & { id: number; except: PrincipalIds[] })[];
}

const list = (select: string) => `(SELECT coalesce(json_agg(row), '[]') FROM (${select}) AS row)`;

/** One statement: PostgreSQL shows a statement one state of the database, whatever the isolation level. */
const EVERYTHING = `SELECT
  ${list('SELECT id, username, is_active FROM users ORDER BY id')} AS users,
  ${list(`SELECT g.id, g.name, array(SELECT user_id FROM group_members WHERE group_id = g.id ORDER BY user_id) AS members
            FROM groups g WHERE g.deleted_at IS NULL ORDER BY g.id`)} AS groups,
  ${list(`SELECT id, user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at
            FROM grants WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY id`)} AS grants,
  ${list(`SELECT p.id, p.kind, p.user_id, p.group_id, p.engine_name, p.catalog_name, p.schema_name, p.table_name, p.column_name,
                 p.expression, p.privileges, ${list(`SELECT e.user_id, e.group_id, e.engine_name FROM policy_exceptions e
                   WHERE e.policy_id = p.id ORDER BY e.user_id, e.group_id, e.engine_name`)} AS except
            FROM policies p WHERE p.removed_at IS NULL ORDER BY p.id`)} AS policies`;

/**
 * A rule has some 400 bytes around its names. A name can stand in several: on the node, and where everybody is listed who reaches
 * anything. Signs of patterns are escaped.
 */
const GROWTH = `
  SELECT coalesce(sum(400 + 4 * octet_length(concat(g.catalog_name, g.schema_name, g.table_name))
           + 8 * (coalesce(octet_length(g.engine_name), 0)
                  + (SELECT coalesce(sum(octet_length(u.username) + 1), 0) FROM users u
                      WHERE u.id = g.user_id
                         OR u.id IN (SELECT user_id FROM group_members WHERE group_id = g.group_id)))), 0)::float8 AS bytes,
         coalesce(bool_or(g.table_name IS NULL), false)
           OR EXISTS (SELECT FROM policies WHERE changed_at >= $1 AND removed_at IS NULL)
           OR EXISTS (SELECT FROM group_members WHERE added_at >= $1) AS is_wide
    FROM grants g WHERE g.granted_at >= $1 AND g.revoked_at IS NULL`;

@Injectable()
export class PostgresSnapshotStore extends SnapshotStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async growth(since: Date): Promise<Growth> {
    const [{ bytes, is_wide: isWide }] = await this.session.manager.query<[{ bytes: number; is_wide: boolean }]>(
      GROWTH,
      [since],
    );
    return { bytes, isWide };
  }

  override async read(at: Date): Promise<WrittenSnapshot> {
    const [lists] = await this.session.manager.query<[Lists]>(EVERYTHING, [at]);
    return {
      users: lists.users.map(({ id, username, is_active: isActive }): SnapshotUser => ({
        id,
        name: username,
        isActive,
      })),
      groups: lists.groups.map(({ id, name, members }): SnapshotGroup => ({ id, name, members })),
      grants: lists.grants.flatMap((row): SnapshotGrant[] => {
        const principal = subjectOf(row);
        if (principal.type === 'everyone') return [];
        const expiresAt = row.expires_at === null ? null : new Date(row.expires_at);
        return [
          { id: row.id, principal, resource: resourceOf(row), privileges: row.privileges, expiresAt, revokedAt: null },
        ];
      }),
      policies: lists.policies.map((row): SnapshotPolicy => ({
        id: row.id,
        principal: subjectOf(row),
        except: row.except.map(subjectOf).filter((subject): subject is Principal => subject.type !== 'everyone'),
        ...ruleOf(row),
      })),
    };
  }
}

function subjectOf(row: PrincipalIds): PolicySubject {
  if (row.user_id !== null) return { type: 'user', id: row.user_id };
  if (row.group_id !== null) return { type: 'group', id: row.group_id };
  return row.engine_name === null ? { type: 'everyone' } : { type: 'engine', name: row.engine_name };
}
