import { remarks, runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { sharedService } from '../support/service/service.js';
import { ApiClient, signIn } from '../support/service/api-client.js';

describe('grantline users create-admin', () => {
  const service = sharedService();

  const createAdmin = (username: string, password: string) =>
    runGrantline(
      ['users', 'create-admin', '--username', username, '--email', `${username}@example.org`],
      {
        AUTH_SECRET_KEY: TEST_SECRET,
        AUTH_BCRYPT_COST: '4',
        DATABASE_URL: service.database.url,
        DATABASE_MIGRATION_URL: service.database.migrationUrl,
      },
      password,
    );

  it('makes an administrator beside the running service', async () => {
    const made = await createAdmin('boss', 'the password of boss\n');
    expect(made).toEqual({ code: 0, stdout: 'administrator boss has the id 1\n', stderr: remarks() });

    const anonymous = new ApiClient(service.url);
    const boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
    expect((await boss.get('/api/auth/me')).body).toMatchObject({ username: 'boss', role: 'admin' });

    const again = await createAdmin('BOSS', 'another password');
    expect(again).toEqual({ code: 1, stdout: '', stderr: remarks('the name BOSS is taken') });
  });

  it('reports all problems at once', async () => {
    const refused = await createAdmin('b', 'short');
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: remarks('username must be 3 to 64 characters long', 'password must be 8 to 128 characters long'),
    });
  });
});
