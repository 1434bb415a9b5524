// What `GET /api/auth/me` and `POST /api/auth/refresh` are measured against: Fastify, pg and the same queries, with nothing around them.
import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

const DAY_MS = 86_400_000;
const [url, sessionId, userId, name] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10 });
const text = `
  SELECT u.id, u.username, u.email, u.role, u.is_active AS "isActive", u.created_at AS "createdAt",
         u.one_time_until AS "passwordExpiresAt"
  FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.id = $1 AND u.id = $2 AND u.is_active AND s.ended_at IS NULL AND s.expires_at > $3`;
const mark = 'UPDATE refresh_tokens SET used_at = $2 WHERE id = $1 AND used_at IS NULL RETURNING session_id';
const store =
  'INSERT INTO refresh_tokens (id, session_id, parent_id, issued_at, expires_at) VALUES ($1, $2, $3, $4, $5)';
const rotate = `
  WITH used AS (UPDATE refresh_tokens SET used_at = $2 WHERE id = $1 AND used_at IS NULL RETURNING session_id)
  INSERT INTO refresh_tokens (id, session_id, parent_id, issued_at, expires_at)
  SELECT $3, session_id, $1, $2, $4 FROM used`;

const server = Fastify();
server.get('/me', async () => {
  const values = [sessionId, userId, new Date()];
  const { rows } = await pool.query(name === undefined ? { text, values } : { name, text, values });
  return rows[0];
});

/** @param {any} request */
const rotation = ({ body }) => {
  const now = new Date();
  const used = Buffer.from(body.refresh_token, 'hex');
  return { used, next: randomBytes(32), now, expiry: new Date(now.getTime() + DAY_MS) };
};
server.post('/refresh', async (request, reply) => {
  const { used, next, now, expiry } = rotation(request);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rows } = await client.query({ name: 'mark', text: mark, values: [used, now] });
    if (rows.length === 0) return reply.code(401).send();
    await client.query({ name: 'store', text: store, values: [next, rows[0].session_id, used, now, expiry] });
    return { refresh_token: next.toString('hex') };
  } finally {
    await client.query('COMMIT');
    client.release();
  }
});
server.post('/refresh-in-one-statement', async (request, reply) => {
  const { used, next, now, expiry } = rotation(request);
  const { rowCount } = await pool.query({ name: 'rotate', text: rotate, values: [used, now, next, expiry] });
  return rowCount === 1 ? { refresh_token: next.toString('hex') } : reply.code(401).send();
});
await server.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`listening on ${server.listeningOrigin}\n`);
