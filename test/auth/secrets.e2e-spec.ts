import { DataSource } from 'typeorm';
import { RegistrationService } from '../../src/auth/registration.service.js';
import { linesWithSecrets, TEST_SECRET } from '../support/service/secrets.js';
import { sharedService } from '../support/service/service.js';
import {
  type Answer,
  ApiClient,
  passwordOf,
  signedUp,
  signIn,
  registrant,
  tokensOf,
} from '../support/service/api-client.js';

describe('secrets', () => {
  const service = sharedService({ LOG_LEVEL: 'trace' });
  const anonymous = new ApiClient(service);
  const secrets: string[] = [TEST_SECRET];
  const answers: Answer[] = [];
  beforeAll(async () => {
    await service.app
      .get(RegistrationService)
      .createAdministrator({ username: 'boss', email: 'boss@example.org', password: passwordOf('boss') });
  });

  const keep = async (answer: Promise<Answer>): Promise<Answer> => {
    answers.push(await answer);
    return answer;
  };

  it('of a life with everything in it stay out of logs, answers and the audit trail', async () => {
    const ana = await signedUp(anonymous, 'ana');
    const me = anonymous.as(ana.access_token);
    const boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
    const next = tokensOf(await anonymous.post('/api/auth/refresh', { refresh_token: ana.refresh_token }));
    const oneTime = await boss.post(`/api/admin/users/${ana.id}/one-time-password`);
    const password = String(oneTime.body?.['one_time_password']);
    secrets.push(ana.access_token, ana.refresh_token, next.access_token, next.refresh_token, password);
    secrets.push('a wrong password', 'my next password', 'password typed as a name', passwordOf('ana'));

    await keep(anonymous.post('/api/auth/register', registrant('ana')));
    await keep(anonymous.post('/api/auth/register', registrant('x', { password: 'my next password', email: 'no' })));
    await keep(anonymous.post('/api/auth/login', { username: 'ana', password: 'a wrong password' }));
    await keep(
      anonymous.post('/api/auth/login', { username: 'password typed as a name', password: 'a wrong password' }),
    );
    await keep(anonymous.post('/api/auth/login', { username: 'ana', password: 'a wrong password', extra: password }));
    await keep(anonymous.post('/api/auth/login', `{"username":"ana","password":"${passwordOf('ana')}"`));
    await keep(anonymous.post('/api/auth/refresh', { refresh_token: ana.refresh_token }));
    await keep(anonymous.post('/api/auth/refresh', { refresh_token: `${ana.refresh_token}x` }));
    await keep(me.get('/api/auth/me'));
    await keep(me.get(`/api/auth/me?access_token=${ana.access_token}`));
    await keep(anonymous.get(`/api/nowhere/${ana.access_token}?token=${ana.access_token}`));
    await keep(anonymous.send('GET', '/api/auth/me', undefined, { Authorization: `Basic ${password}` }));
    const signedIn = await signIn(anonymous, 'ana', password);
    secrets.push(signedIn.access_token, signedIn.refresh_token);
    const mine = anonymous.as(signedIn.access_token);
    await keep(mine.post('/api/auth/password', { current_password: password, new_password: 'my next password' }));
    await keep(mine.post('/api/auth/password', { current_password: password, new_password: 'my next password' }));
    await keep(mine.get('/api/auth/sessions'));
    await keep(boss.get('/api/admin/users'));
    await keep(boss.get('/api/admin/audit?limit=200'));
    const hashes = await service.app.get(DataSource).query<{ password_hash: string }[]>('SELECT * FROM users');
    secrets.push(...hashes.map((row) => row.password_hash));

    expect(answers.map(({ status }) => status)).toContain(401);
    expect(
      linesWithSecrets(
        answers.map((answer) => JSON.stringify(answer.body)),
        secrets,
      ),
    ).toEqual([]);
    expect(service.logLines.length).toBeGreaterThan(answers.length);
    expect(linesWithSecrets(service.logLines, secrets)).toEqual([]);
  });

  it('would be found', () => {
    const line = `{"authorization":"Bearer ${secrets[1] ?? ''}"}`;
    expect(linesWithSecrets([line, 'nothing'], [])).toEqual([line]);
    expect(linesWithSecrets(['a wrong password was sent'], secrets)).toHaveLength(1);
  });
});
