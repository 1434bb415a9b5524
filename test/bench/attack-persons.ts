import { Client } from 'pg';
import { closed } from './attack-sending.js';
import type { Attack } from './attacks.js';
import { requestText } from './http-load.js';

/** One person's connections. */
const CONNECTIONS = 50;
/** The first ids of theirs: those of the accounts that a benchmark registers are lower. */
const FIRST = 1_000_000;

const person = (what: string, method: string, path: string, body?: unknown): Attack => ({
  what: `${what}, by 50 connections of one person`,
  run: ({ api, token }) => closed(api, CONNECTIONS, requestText(method, path, { token, body })),
});

/** By somebody with an account, as long as the process lives; each connection sends its next request when it has its answer. */
export const PERSONS: Record<string, Attack> = {
  'own-queries': person('queries of 1 MiB that are refused', 'POST', '/api/queries', {
    sql: 1,
    parameters: Array<object>(349_000).fill({}),
  }),
  'own-explain': person('the own `explain`', 'GET', '/api/access/explain?catalog=system&privilege=SELECT'),
  'own-effective': person('the own `effective`', 'GET', '/api/access/effective?limit=200'),
  'own-me': person('the own `me`', 'GET', '/api/auth/me'),
};

/** 2,000 accounts without a password and 50 grants of each on a table of its own: 100,000. Written once into a database. */
export async function fillGrants(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(`
      WITH names AS (
        INSERT INTO principal_names SELECT 'holder_' || n, 'account', now() FROM generate_series(1, 2000) AS n
          ON CONFLICT DO NOTHING RETURNING name
      ), people AS (
        INSERT INTO users (id, username, role, is_active, source, created_at) OVERRIDING SYSTEM VALUE
          SELECT ${FIRST} + substr(name, 8)::integer, name, 'user', true, 'import', now() FROM names RETURNING id
      )
      INSERT INTO grants (user_id, catalog_name, schema_name, table_name, privileges, granted_at)
        SELECT id, 'lake', 's' || id % 50, 't' || id || '_' || n, '{SELECT}', now() FROM people, generate_series(1, 50) AS n`);
  } finally {
    await client.end();
  }
}
