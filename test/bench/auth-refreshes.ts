import { randomBytes, randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { type AuthUnderTest, claimsIn, tokensIn } from './auth-under-test.js';
import { type Answered, requestText, Wire } from './http-load.js';
import { MeasuredProcess } from './measured-process.js';
import { MeasuredSide } from './measured-side.js';
import { median, medianRatio, type Ratio } from './ratio.js';

const SESSIONS = 16;
const SECONDS = 2;
const TURNS = 12;
/** Turns after which a service that has just started is as quick as it will be. */
const WARM_UP = 4;
const MARK = 'UPDATE refresh_tokens SET used_at = $2 WHERE id = $1 AND used_at IS NULL';
const STORE =
  'INSERT INTO refresh_tokens (id, session_id, parent_id, issued_at, expires_at) VALUES ($1, $2, $3, $4, $5)';

/**
 * Rotations over HTTP beside bare Fastify routes (a transaction of two prepared statements: mark one token used, store the next; and one
 * statement that does both), and beside the bare transaction without a route. Each has as many sessions, its own.
 */
export async function measureRefreshes({ service, login, tokens, postgres }: AuthUnderTest): Promise<Ratio[]> {
  const pool = new Pool({ connectionString: postgres.url, max: 10 });
  const { sid, sub } = claimsIn(tokens.access_token);
  const bareServer = await MeasuredProcess.start('test/bench/bare-route.js', [postgres.url, sid, sub, 'me'], {});
  const route = async (path: string): Promise<MeasuredSide> => {
    const live = (await bareFamilies(pool, sub)).map((family) => family.live.toString('hex'));
    return rotating(bareServer, path, live);
  };
  const ours = rotating(service, '/api/auth/refresh', await signedIn(service.port, login));
  const transaction = await route('/refresh');
  const statement = await route('/refresh-in-one-statement');
  const families = await bareFamilies(pool, sub);
  const bare: number[] = [];
  for (let turn = -WARM_UP; turn < TURNS; turn += 1) {
    const theirs = await bareRotations(pool, families);
    if (turn >= 0) bare.push(theirs);
    for (const side of [transaction, ours, statement]) await side.turn(SECONDS, turn >= 0);
  }
  await Promise.all([bareServer.stop(), pool.end()]);
  const against = (side: MeasuredSide, their: string): [Ratio, Ratio] =>
    ours.against(side, (measured) => `refreshes, ${measured}, against ${their}`);
  const [perSecond, cpu] = against(transaction, 'a bare Fastify + pg route, prepared');
  const [perSecondInOne, cpuInOne] = against(statement, 'the bare route with one statement, prepared');
  return [
    { ...perSecond, target: { atLeast: 0.5 } },
    cpu,
    { ...perSecondInOne, target: { atLeast: 0.5 } },
    cpuInOne,
    {
      what: 'refreshes per second, against a bare transaction of the same two statements',
      ratio: medianRatio(ours.perSecond, bare),
      target: { atLeast: 0.5 },
      figures: `${median(ours.perSecond).toFixed(0)}/s, ${median(bare).toFixed(0)}/s`,
    },
  ];
}

/** Each connection rotates the tokens of one session, beginning with its live one. */
function rotating(server: MeasuredProcess, path: string, live: string[]): MeasuredSide {
  const next = (session: number, last: Answered | null): string => {
    if (last !== null) live[session] = (JSON.parse(last.body) as { refresh_token: string }).refresh_token;
    return requestText('POST', path, { body: { refresh_token: live[session] } });
  };
  return new MeasuredSide(server, next, live.length);
}

/** The refresh tokens of so many new sessions. */
async function signedIn(port: number, login: string): Promise<string[]> {
  const wire = await Wire.open(port);
  const live: string[] = [];
  while (live.length < SESSIONS) live.push(tokensIn(await wire.send(login)).refresh_token);
  wire.close();
  return live;
}

interface Family {
  session: string;
  live: Buffer;
}

/** Sessions that are the bare transaction's alone. */
async function bareFamilies(pool: Pool, userId: string): Promise<Family[]> {
  const families = Array.from({ length: SESSIONS }, () => ({ session: randomUUID(), live: randomBytes(32) }));
  for (const { session, live } of families) {
    await pool.query(
      `INSERT INTO sessions (id, user_id, created_at, expires_at, address) VALUES ($1, $2, now(), now() + interval '1 day', '')`,
      [session, userId],
    );
    await pool.query(STORE, [live, session, null, new Date(), inADay()]);
  }
  return families;
}

/** Rotations per second: everything a rotation must ask of the database, prepared, with no HTTP, token or rule around it. */
async function bareRotations(pool: Pool, families: readonly Family[]): Promise<number> {
  const start = performance.now();
  let count = 0;
  const rotate = async (family: Family): Promise<void> => {
    while (performance.now() < start + SECONDS * 1000) {
      const client = await pool.connect();
      const next = randomBytes(32);
      await client.query('BEGIN');
      await client.query({ name: 'mark', text: MARK, values: [family.live, new Date()] });
      const values = [next, family.session, family.live, new Date(), inADay()];
      await client.query({ name: 'store', text: STORE, values });
      await client.query('COMMIT');
      client.release();
      family.live = next;
      count += 1;
    }
  };
  await Promise.all(families.map(rotate));
  return (count * 1000) / (performance.now() - start);
}

function inADay(): Date {
  return new Date(Date.now() + 86_400_000);
}
