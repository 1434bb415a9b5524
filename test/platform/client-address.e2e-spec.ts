import { ApiClient, passwordOf, signedUp } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

describe('people behind a proxy', () => {
  const service = sharedService({
    TRUSTED_PROXY_HOPS: '1',
    AUTH_THROTTLE_PER_ADDRESS: '5',
    AUTH_THROTTLE_PER_NAME: '5',
  });
  const anonymous = new ApiClient(service);
  beforeAll(async () => {
    await signedUp(anonymous, 'some_user');
  });

  const statuses = async (addresses: readonly string[]): Promise<number[]> => {
    const found: number[] = [];
    for (const [at, address] of addresses.entries()) {
      const guess = { username: `guess_${at}`, password: 'a wrong password' };
      found.push((await anonymous.send('POST', '/api/auth/login', guess, { 'X-Forwarded-For': address })).status);
    }
    return found;
  };

  it.each([
    ['a port each', (at: number) => `192.0.2.7:${40_000 + at}`],
    ['brackets and a port each', (at: number) => `[2001:db8:7::1]:${40_000 + at}`],
    ['a zone each', (at: number) => `2001:db8:8::1%eth${at}`],
    ['IPv6 around IPv4', (at: number) => (at % 2 === 0 ? '192.0.2.8' : '::ffff:192.0.2.8')],
    ['no address at all', (at: number) => `invented-${at}`],
  ])('are counted together when one address is written in many ways: %s', async (_, written) => {
    const answers = await statuses(Array.from({ length: 7 }, (__, at) => written(at)));

    expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  it('see in their sessions the address itself', async () => {
    const login = { username: 'some_user', password: passwordOf('some_user') };
    const { body } = await anonymous.send('POST', '/api/auth/login', login, {
      'X-Forwarded-For': '[2001:DB8::9]:4711',
    });
    const { body: sessions } = await anonymous.as(String(body?.['access_token'])).get('/api/auth/sessions');

    expect((sessions?.['items'] as { address: string }[]).map(({ address }) => address)).toContain('2001:db8::9');
  });
});
