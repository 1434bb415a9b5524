import { Registry } from 'prom-client';
import { HealthRegistry } from '../health.js';
import { operationsServer } from './operations-server.js';

describe('the second port', () => {
  const health = new HealthRegistry();
  const server = operationsServer(health, new Registry());
  let url: string;
  beforeAll(async () => {
    url = await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => server.close());

  it.each<['up' | 'degraded' | 'down', number]>([
    ['up', 200],
    ['degraded', 200],
    ['down', 503],
  ])('is ready or not: %s is %i', async (state, status) => {
    health.register(
      'part',
      () => Promise.resolve(state),
      () => 12,
    );

    const answer = await fetch(`${url}/health/ready`);

    expect([answer.status, await answer.json()]).toEqual([
      status,
      { status: state, parts: { part: state }, ages: { part: 12 } },
    ]);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  });

  it('has nothing else, and says so as the first one does', async () => {
    const answer = await fetch(`${url}/api/auth/me`);

    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await answer.json()).toMatchObject({ type: 'about:blank', status: 404, code: 'not_found' });
  });
});
