import { administrator } from '../support/service/administrator.js';
import { ApiClient, registrant } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const OURS = 'https://app.example.org';

describe('what settings open and close', () => {
  const service = sharedService({ AUTH_REGISTRATION_ENABLED: 'false', CORS_ORIGINS: OURS });

  it('registration is closed: 403, and accounts are still made on the command line and by administrators', async () => {
    const answer = await new ApiClient(service.url).post('/api/auth/register', registrant('ana'));

    expect([answer.status, answer.body?.['code']]).toEqual([403, 'registration_closed']);
    const admin = await administrator(service);
    expect((await admin.get('/api/auth/me')).status).toBe(200);
    expect((await admin.post('/api/admin/users', { username: 'ana' })).status).toBe(201);
  });

  it('a closed registration is not the answer to an invalid body', async () => {
    expect((await new ApiClient(service.url).post('/api/auth/register', { username: 'ana' })).status).toBe(400);
  });

  it('a page of an allowed origin may ask, and may send the headers that it needs', async () => {
    const preflight = await fetch(`${service.url}/api/auth/me`, {
      method: 'OPTIONS',
      headers: {
        Origin: OURS,
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers': 'authorization, content-type',
      },
    });
    const asked = await fetch(`${service.url}/api/auth/me`, { headers: { Origin: OURS } });

    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
    for (const { headers } of [preflight, asked]) {
      expect(headers.get('access-control-allow-origin')).toBe(OURS);
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(headers.get('vary')).toContain('Origin');
    }
  });

  it('OPTIONS without an origin is answered without a text of another kind', async () => {
    const { status, headers } = await fetch(`${service.url}/api/auth/me`, { method: 'OPTIONS' });

    expect([status, headers.get('content-type')]).toEqual([204, null]);
  });

  it('a page of any other origin hears nothing of it', async () => {
    const asked = await fetch(`${service.url}/api/auth/me`, {
      headers: { Origin: 'https://app.example.org.evil.test' },
    });

    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });
});
