// What `GET /api/auth/me` is measured against: Fastify, pg and the same query, with nothing around them.
import Fastify from 'fastify';
import pg from 'pg';

const [url, sessionId, userId, name] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10 });
const text = `
  SELECT u.id, u.username, u.email, u.role, u.is_active AS "isActive", u.created_at AS "createdAt",
         u.one_time_until AS "oneTimeUntil"
  FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.id = $1 AND u.id = $2 AND u.is_active AND s.ended_at IS NULL AND s.expires_at > $3`;
const server = Fastify();
server.get('/me', async () => {
  const values = [sessionId, userId, new Date()];
  const { rows } = await pool.query(name === undefined ? { text, values } : { name, text, values });
  return rows[0];
});
await server.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`listening on ${server.listeningOrigin}\n`);
