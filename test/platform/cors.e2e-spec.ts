import { sharedService } from '../support/service/service.js';

const ORIGIN = 'https://app.example.org';

describe('a web application of another origin', () => {
  const service = sharedService({ CORS_ORIGINS: ORIGIN });

  const get = (path: string, origin: string) => fetch(service.url + path, { headers: { Origin: origin } });

  it('may read the headers that answers explain themselves with', async () => {
    const { headers } = await get('/api/auth/me', ORIGIN);

    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(headers.get('access-control-expose-headers')?.split(', ')).toEqual([
      'Location',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'X-Request-Id',
    ]);
  });

  it('may not, where it is not on the list', async () => {
    const { headers } = await get('/api/auth/me', 'https://elsewhere.example.org');

    expect(headers.get('access-control-allow-origin')).not.toBe('https://elsewhere.example.org');
  });

  it('gets 404 for an unknown path', async () => {
    expect((await get('/nowhere', ORIGIN)).status).toBe(404);
  });
});
