import { setImmediate as nextTurn } from 'node:timers/promises';
import { ModulesContainer } from '@nestjs/core';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { visibleTexts } from '../support/rules/visible-texts.js';
import { NUMBERS, QueriesUnderTest, submitted } from '../query-engine/queries-under-test.js';

describe('what inspect or JSON.stringify would show of everything in the container', () => {
  let queries: QueriesUnderTest;
  beforeAll(async () => {
    queries = await QueriesUnderTest.start();
  });
  afterAll(() => queries.stop());

  it('holds no secret, no token and no nextUri, while a query waits to be read', async () => {
    const { service, engine, ana } = queries;
    engine.answers('SELECT held', { columns: NUMBERS, data: [[1]] }, { columns: NUMBERS, data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT held' });
    await ana.get(`${path}/rows?limit=1`);
    await nextTurn();
    const paths = engine.requests.map((request) => request.path).filter((requested) => requested !== '/v1/statement');
    const secrets = {
      'the signing key': TEST_SECRET,
      'the database’s password': new URL(service.database.url).password,
      'the client secret': 'grantline-secret',
      'the service-account token': FakeKeycloak.token(1),
      'an access token': ana.token,
      ...Object.fromEntries(
        paths.filter((requested) => requested.startsWith('/v1/statement/')).map((requested) => [requested, requested]),
      ),
    };
    expect(Object.keys(secrets).length).toBeGreaterThan(5);

    const shown: string[] = [];
    let providers = 0;
    for (const module of service.app.get(ModulesContainer).values()) {
      for (const { name, instance } of [...module.providers.values(), ...module.controllers.values()]) {
        providers += 1;
        for (const { path: place, text } of visibleTexts(instance, String(name))) {
          for (const [what, secret] of Object.entries(secrets))
            if (text.includes(secret)) shown.push(`${what}: ${place}`);
        }
      }
    }

    expect(shown).toEqual([]);
    expect(providers).toBeGreaterThan(100);
    await ana.delete(path);
  });
});
