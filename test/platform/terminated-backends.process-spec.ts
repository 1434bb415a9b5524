import { Client } from 'pg';
import { ApiClient, passwordOf, signedUp } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase, testPostgres } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { until } from '../support/service/until.js';

const TERMINATIONS = 20;
const TERMINATE = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1';

describe('backends that an administrator terminates', () => {
  let database: TestDatabase;
  let superuser: Client;
  beforeEach(async () => {
    database = await freshDatabase();
    superuser = new Client(testPostgres().superuserUrl);
    await superuser.connect();
  });
  afterEach(async () => {
    await superuser.end();
    await database.drop();
  });

  it('cost no request more than a 503, and the process nothing', async () => {
    const service = new GrantlineProcess(['serve'], {
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      AUTH_THROTTLE_ENABLED: 'false',
      ACL_SYNC_ENABLED: 'false',
      PORT: '0',
      OPERATIONS_PORT: '0',
    });
    const anonymous = new ApiClient(await service.url());
    const ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    const answers: string[] = [];
    let isOver = false;
    const clients = Array.from({ length: 12 }, async (_, at) => {
      while (!isOver) {
        const login = { username: 'ana', password: passwordOf('ana') };
        const { status, body } = await (at % 2 === 0
          ? ana.get('/api/auth/me')
          : anonymous.post('/api/auth/login', login));
        answers.push(status === 200 ? '200' : `${status} ${String(body?.['code'])}`);
      }
    });

    const name = new URL(database.url).pathname.slice(1);
    for (let done = 0; done < TERMINATIONS; done++) {
      const seen = answers.length;
      await until(() => answers.length >= seen + 30);
      await superuser.query(TERMINATE, [name]);
    }
    isOver = true;
    await Promise.all(clients);

    expect((await ana.get('/api/auth/me')).status).toBe(200);
    service.signal('SIGTERM');
    const { code, stdout } = await service.finished;
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => line.includes('internal_error'))).toEqual([]);
    expect(new Set(answers)).toEqual(new Set(['200', '503 database_unavailable']));
  });
});
