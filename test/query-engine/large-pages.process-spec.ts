import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { ended, submitted } from './queries-under-test.js';
import { until } from '../support/service/until.js';

const MIB = 1_048_576;
const PEOPLE = ['ana', 'ben', 'cyd', 'dan', 'eve', 'flo'];

describe('a service with 512 MB, and pages that are larger than that', () => {
  const engine = new FakeTrino();
  const sockets: Socket[] = [];
  let database: TestDatabase;
  let service: GrantlineProcess;
  let url: string;
  let people: ApiClient[];

  beforeAll(async () => {
    const { hostname, port } = new URL(await engine.listen());
    database = await freshDatabase();
    service = new GrantlineProcess(['serve'], {
      NODE_ENV: 'test',
      NODE_OPTIONS: '--max-old-space-size=512',
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      ACL_SYNC_ENABLED: 'false',
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      PORT: '0',
      OPERATIONS_PORT: '0',
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
    });
    url = await service.url();
    const stranger = new ApiClient({ url }); // keeps its connections: new ones would take the place of the answers that nobody reads
    people = await Promise.all(PEOPLE.map(async (name) => stranger.as((await signedUp(stranger, name)).access_token)));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    service.signal('SIGTERM');
    await service.finished;
    await engine.close();
    await database.drop();
  });

  const [columns] = [[column('v', 'varchar')]];
  const person = (index: number): ApiClient => people[index] ?? new ApiClient(url);

  async function lives(): Promise<void> {
    expect((await person(5).get('/api/auth/me')).status).toBe(200);
  }

  const csv = (path: string): Promise<Response> =>
    fetch(`${url}${path}/rows`, { headers: { Accept: 'text/csv', Authorization: `Bearer ${person(0).token}` } });

  /** Asks for rows and never reads the answer. */
  async function asksAndNeverReads(owner: ApiClient, path: string, accept: string): Promise<void> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    sockets.push(socket.pause().on('error', () => undefined));
    await once(socket, 'connect');
    socket.write(
      `GET ${path}/rows HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\nAuthorization: Bearer ${owner.token}\r\n\r\n`,
    );
  }

  it('survives five statements of one user with values of 240 MB, and reports the problem', async () => {
    engine.answers('SELECT huge', { columns, data: '[["@filler"]]', filler: { text: 'x', bytes: 240 * MIB } });
    const paths = await Promise.all(Array.from({ length: 5 }, () => submitted(person(0), { sql: 'SELECT huge' })));

    for (const path of paths) {
      // Whichever is reached first while they come: the limit of one page, or the share of all five together.
      const code = expect.stringMatching(/^(page_too_large|too_many_unread_rows)$/) as string;
      expect(await ended(person(0), path)).toMatchObject({ state: 'failed', error: { code } });
    }
    await lives();
  });

  it('takes no page whose rows would multiply when they are parsed', async () => {
    const filler = { text: '[1],', bytes: 30 * MIB };
    engine.answers('SELECT nested', { columns, data: '[[[@filler[1]]]]', filler });
    engine.answers('SELECT wide', { columns, data: '[[@filler"x"]]', filler: { text: '1,', bytes: 30 * MIB } });

    for (const sql of ['SELECT nested', 'SELECT wide']) {
      expect(await ended(person(0), await submitted(person(0), { sql }))).toMatchObject({
        error: { code: 'page_too_large' },
      });
    }
    await lives();
  });

  it('survives five statements of one user with fifty thousand columns, and takes ten thousand', async () => {
    const wide = (length: number) => Array.from({ length }, (_, at) => column(`_col${at}`, 'integer'));
    engine.answers('SELECT columns', { columns: wide(50_000), data: [['x']] });
    engine.answers('SELECT fewer', { columns: wide(10_000), data: [wide(10_000).map((_, at) => at)] });
    const paths = await Promise.all(Array.from({ length: 5 }, () => submitted(person(0), { sql: 'SELECT columns' })));

    for (const path of paths) {
      expect(await ended(person(0), path)).toMatchObject({ state: 'failed', error: { code: 'page_too_large' } });
    }
    const path = await submitted(person(0), { sql: 'SELECT fewer' });
    const answer = await csv(path);
    const lines = (await answer.text()).trim().split('\r\n');
    expect(lines.map((line) => line.split(',').length)).toEqual([10_000, 10_000]);
    expect(await ended(person(0), path)).toMatchObject({ state: 'finished' });
    await lives();
  });

  it('hands out a page of two million small rows', async () => {
    const numbers = [column('n', 'integer')];
    const filler = { text: '[1],', bytes: 8 * MIB };
    engine.answers('SELECT small', { columns: numbers, data: '[@filler[1]]', filler });
    const path = await submitted(person(0), { sql: 'SELECT small' });
    const answer = await csv(path);
    let bytes = 0;
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;

    expect(bytes).toBe(3 + 3 * (Math.floor((8 * MIB) / 4) + 1));
    await lives();
  });

  it('holds unread pages within its budget, and other users do not wait for them', async () => {
    // A row of 20 MiB, less than half of a share: a larger one could not be sent beside its page.
    engine.answers(
      'SELECT big',
      { columns, data: '[["@filler"]]', filler: { text: 'é', bytes: 10 * MIB } },
      { data: [['z']] },
    );
    engine.answers('SELECT one', { columns, data: [['z']] });
    const greedy = people.slice(0, 5);
    const held = await Promise.all(
      greedy.map((owner) => Promise.all(Array.from({ length: 5 }, () => submitted(owner, { sql: 'SELECT big' })))),
    );
    const states = async (): Promise<string[]> => {
      const all = await Promise.all(held.flatMap((paths, owner) => paths.map((path) => person(owner).get(path))));
      return all.map(({ body }) => {
        const error = body?.['error'] as { code: string } | null;
        return error === null ? String(body?.['columns'] !== null) : error.code;
      });
    };
    await until(async () => !(await states()).includes('false'));
    for (const [owner, paths] of held.entries()) {
      for (const path of paths) {
        for (const accept of ['text/csv', 'application/x-ndjson', 'application/json', 'application/json']) {
          await asksAndNeverReads(person(owner), path, accept);
        }
      }
    }

    const ended = new Set(await states());
    // An unread answer may have been dropped meanwhile, which ends its query.
    ended.delete('query_abandoned');
    expect(ended).toEqual(new Set(['true', 'too_many_unread_rows']));
    const path = await submitted(person(5), { sql: 'SELECT one' });
    expect((await person(5).get(`${path}/rows`)).body).toMatchObject({ rows: [['z']] });
    await lives();
  });
});
