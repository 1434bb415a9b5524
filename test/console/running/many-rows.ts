import type { Client } from 'pg';

const MANY = 10_000;

/** More people than the API makes in a test's time: `crowd_00001` and on. */
export async function insertPeople(database: Client): Promise<void> {
  await database.query(`WITH numbers AS (SELECT 'crowd_' || lpad(i::text, 5, '0') AS name FROM generate_series(1, ${MANY}) i),
    claimed AS (INSERT INTO principal_names (name, holder, claimed_at, account_key) SELECT name, 'account', now(), name FROM numbers)
    INSERT INTO users (username, role, is_active, created_at, source) SELECT name, 'user', true, now(), 'local' FROM numbers`);
}

/** As many of everything else: a person of many grants and groups, a group of many people, policies, runs, and events. */
const EVERYTHING = [
  `INSERT INTO groups (name, description, created_at)
     SELECT 'team-' || lpad(i::text, 5, '0'), 'Reads what region ' || i || ' sells.', now() FROM numbers`,
  `INSERT INTO group_members (group_id, user_id, added_at)
     SELECT (SELECT min(id) FROM groups), id, now() FROM users WHERE username LIKE 'crowd_%'`,
  `INSERT INTO group_members (group_id, user_id, added_at)
     SELECT g.id, u.id, now() FROM groups g, users u WHERE g.name LIKE 'team-%' AND u.username = 'priya_raman'`,
  `INSERT INTO grants (user_id, catalog_name, schema_name, table_name, privileges, granted_at)
     SELECT u.id, 'sales', 'eu', 'orders_of_' || lpad(i::text, 5, '0'), '{SELECT,INSERT}', now()
       FROM numbers, users u WHERE u.username = 'priya_raman'`,
  `INSERT INTO policies (kind, is_for_everyone, catalog_name, schema_name, table_name, expression, created_at, changed_at)
     SELECT 'row_filter', true, 'sales', 'eu', 'orders_of_' || lpad(i::text, 5, '0'), 'country = ''DE''', now(), now() FROM numbers`,
  `INSERT INTO acl_runs (at, trigger, outcome, reasons, after_version)
     SELECT now() - i * interval '1 minute', 'change', 'refused', '[]', 1 FROM numbers`,
  `INSERT INTO audit_events (at, event, subject_type, subject_id, subject_name, details)
     SELECT now() - i * interval '1 minute', 'group_created', 'group', i::text, 'team-' || i, '{}' FROM numbers`,
];

/** Ten thousand rows behind every list of the sample company. */
export async function insertManyRows(database: Client): Promise<void> {
  await insertPeople(database);
  for (const statement of EVERYTHING)
    await database.query(statement.replaceAll('numbers', `(SELECT generate_series(1, ${MANY}) AS i) AS numbers`));
  await database.query('ANALYZE');
}
