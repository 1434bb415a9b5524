import { Client } from 'pg';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/** The hash of an unknown password. */
const HASH = `$2b$04$${'.'.repeat(53)}`;

/** Writes a generated snapshot into a migrated, empty database, with its own ids; duplicate grants are written once. */
export async function fill(url: string, { users, groups, grants, policies }: Snapshot): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query('BEGIN');
    const rows = (of: readonly object[]) => [JSON.stringify(of)];
    await client.query(
      `INSERT INTO principal_names SELECT name, 'account', now() FROM json_to_recordset($1) AS r(name text)`,
      rows(users),
    );
    await client.query(
      `INSERT INTO users (id, username, email, password_hash, role, is_active, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, name, name || '@example.com', '${HASH}', 'user', "isActive", now()
           FROM json_to_recordset($1) AS r(id integer, name text, "isActive" boolean)`,
      rows(users),
    );
    await client.query(
      `INSERT INTO groups (id, name, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, name, now() FROM json_to_recordset($1) AS r(id integer, name text)`,
      rows(groups),
    );
    await client.query(
      `INSERT INTO group_members (group_id, user_id, added_at) SELECT g.id, m.value::integer, now()
         FROM json_to_recordset($1) AS g(id integer, members json), json_array_elements_text(g.members) AS m`,
      rows(groups),
    );
    await client.query(
      `INSERT INTO grants (id, user_id, group_id, catalog_name, schema_name, table_name, privileges, granted_at)
         OVERRIDING SYSTEM VALUE SELECT *, now()
           FROM json_to_recordset($1) AS r(id integer, "user" integer, "group" integer, catalog text, schema text, "table" text, privileges text[])
         ON CONFLICT DO NOTHING`,
      rows(
        grants.map(({ id, principal, resource, privileges }) => ({ id, ...ids(principal), ...resource, privileges })),
      ),
    );
    await client.query(
      `INSERT INTO policies (id, kind, is_for_everyone, user_id, group_id, catalog_name, schema_name, table_name, column_name,
                             expression, privileges, created_at, changed_at)
         OVERRIDING SYSTEM VALUE SELECT *, now(), now()
           FROM json_to_recordset($1) AS r(id integer, kind text, everyone boolean, "user" integer, "group" integer, catalog text,
                                           schema text, "table" text, "column" text, expression text, privileges text[])`,
      rows(
        policies.map(({ principal, except, resource, ...rule }) => ({
          ...rule,
          ...resource,
          ...ids(principal),
          everyone: principal.type === 'everyone',
        })),
      ),
    );
    await client.query(
      `INSERT INTO policy_exceptions (policy_id, user_id, group_id)
         SELECT * FROM json_to_recordset($1) AS r(policy integer, "user" integer, "group" integer)`,
      rows(policies.flatMap(({ id, except }) => except.map((principal) => ({ policy: id, ...ids(principal) })))),
    );
    for (const table of ['users', 'groups', 'grants', 'policies'])
      await client.query(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), max(id)) FROM ${table}`);
    await client.query('COMMIT');
    await client.query('ANALYZE'); // as autovacuum does within a minute
  } finally {
    await client.end();
  }
}

function ids(principal: PolicyPrincipal): { user?: number; group?: number } {
  if (principal.type === 'user') return { user: principal.id };
  return principal.type === 'group' ? { group: principal.id } : {};
}
