import { hashSync } from 'bcryptjs';
import { DataSource } from 'typeorm';
import { ApiClient, registrant } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const PASSWORD = 'correct horse battery';
const SALT = 'abcdefghijklmnopqrstuu';

describe('a password hash from elsewhere', () => {
  const service = sharedService({ AUTH_BCRYPT_COST: '5' });
  const anonymous = new ApiClient(service);

  const query = <T>(sql: string, values: unknown[]): Promise<T> => service.app.get(DataSource).query<T>(sql, values);
  const hashOf = async (username: string): Promise<string> => {
    const rows = await query<{ password_hash: string }[]>('SELECT password_hash FROM users WHERE username = $1', [
      username,
    ]);
    return rows[0]?.password_hash ?? '';
  };

  it.each(['2a', '2b', '2y'])(
    'of the form $%s$ signs its user in, and is replaced by one of our cost',
    async (form) => {
      const username = `from_${form}`;
      await anonymous.post('/api/auth/register', registrant(username));
      const foreign = hashSync(PASSWORD, `$${form}$04$${SALT}`);
      await query('UPDATE users SET password_hash = $1 WHERE username = $2', [foreign, username]);
      const login = (password: string) => anonymous.post('/api/auth/login', { username, password });

      expect((await login('correct horse batters')).status).toBe(401);
      expect(await hashOf(username)).toBe(foreign);
      expect((await login(PASSWORD)).status).toBe(200);
      const renewed = await hashOf(username);
      expect(renewed).toMatch(/^\$2b\$05\$/);
      expect((await login(PASSWORD)).status).toBe(200);
      expect(await hashOf(username)).toBe(renewed);
    },
  );

  it('of a text before it was normalised works, and is replaced; new ones are of the normalised text, in every form', async () => {
    const composed = 'p\u00e4ssw\u00f6rd lang genug';
    const decomposed = composed.normalize('NFD');
    await anonymous.post('/api/auth/register', registrant('keyboards', { password: composed }));
    const login = async (password: string) =>
      (await anonymous.post('/api/auth/login', { username: 'keyboards', password })).status;
    expect([await login(composed), await login(decomposed), await login('passwort lang genug')]).toEqual([
      200, 200, 401,
    ]);
    const former = hashSync(decomposed, `$2b$05$${SALT}`);
    await query('UPDATE users SET password_hash = $1 WHERE username = $2', [former, 'keyboards']);
    expect([await login(composed), await login(decomposed), await login(composed)]).toEqual([401, 200, 200]);
    const renewed = await hashOf('keyboards');
    expect([await login(decomposed), await hashOf('keyboards')]).toEqual([200, renewed]);
  });

  it('of our cost stays as it is', async () => {
    await anonymous.post('/api/auth/register', registrant('settled', { password: PASSWORD }));
    const before = await hashOf('settled');

    await anonymous.post('/api/auth/login', { username: 'settled', password: PASSWORD });

    expect(await hashOf('settled')).toBe(before);
  });
});
