import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { SystemClock } from '../../src/kernel/clock.js';
import { Secret } from '../../src/kernel/secret.js';
import { OAuthServiceTokenSource } from '../../src/query-engine/infrastructure/oauth-service-token-source.js';
import { ServiceTokenMetrics } from '../../src/query-engine/query.metrics.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { SkippingTimers } from '../support/fakes/fake-timers.js';
import { FIXED_RANDOM } from '../support/fakes/fixed-random.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TestAuthority } from '../support/fakes/test-authority.js';
import { TlsFront } from '../support/fakes/tls-front.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

const HOST = ['127.0.0.1'];

describe('TLS to the engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'engine-tls-'));
  const caFile = join(folder, 'ca.crt');
  const authority = new TestAuthority();
  let tested: StatementClientUnderTest;
  let front: TlsFront;
  beforeEach(async () => {
    writeFileSync(caFile, authority.pem);
    tested = await StatementClientUnderTest.start();
    front = await TlsFront.start(tested.origin, authority.issue(HOST));
  });
  afterEach(async () => {
    await front.close();
    await tested.stop();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const client = (given: Parameters<StatementClientUnderTest['client']>[0] = {}) =>
    tested.client({ origin: front.origin, caFile, ...given });
  const refused = (code: string) => ({ kind: 'unavailable', message: `POST: ${code}` });

  it('carries a whole statement over one connection, without a forwarded header', async () => {
    const answers = await tested.toTheEnd(client(), 'SELECT 1');
    expect(answers.at(-1)?.page.nextPath).toBeNull();
    expect(front.handshakes).toBe(1);
    expect(tested.engine.requests.filter(({ headers }) => 'x-forwarded-proto' in headers)).toEqual([]);
  });

  it.each([
    ['of another authority', () => new TestAuthority().issue(HOST), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['for another name', () => authority.issue(['trino.example.org', '127.0.0.2']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['that has expired', () => authority.issue(HOST, -60_000), 'CERT_HAS_EXPIRED'],
  ])('sends nothing to a server with a certificate %s', async (_, credentials, code) => {
    front.present(credentials());
    await expect(client().submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject(refused(code));
    expect(tested.engine.requests).toEqual([]);
  });

  it("trusts the file's authorities alone, and the platform's without a file", async () => {
    const plain = client({ caFile: null });
    await expect(plain.submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject(
      refused('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    );
    writeFileSync(caFile, '');
    await expect(client().submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('refuses TLS 1.1', async () => {
    const old = await TlsFront.start(tested.origin, authority.issue(HOST), {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
    });
    const asking = client({ origin: old.origin }).submit('SELECT 1', ana, tested.inTime());
    await expect(asking).rejects.toMatchObject({ kind: 'unavailable' });
    expect(old.handshakes).toBe(0);
    await old.close();
  });

  it('keeps its connection while the engine changes its certificate, and accepts the new one', async () => {
    const one = client();
    await tested.toTheEnd(one, 'SELECT 1');
    front.present(authority.issue(HOST));
    await tested.toTheEnd(one, 'SELECT 1');
    expect(front.handshakes).toBe(2);
  });

  it('reads the authorities again when the file changes, and drops connections that the former ones vouched for', async () => {
    const one = client();
    const successor = new TestAuthority();
    await tested.toTheEnd(one, 'SELECT 1');
    writeFileSync(caFile, successor.pem);
    await expect(one.submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({ kind: 'unavailable' });
    front.present(successor.issue(HOST));
    await tested.toTheEnd(one, 'SELECT 1');
  });

  it('is unavailable while the file cannot be read', async () => {
    const one = client();
    rmSync(caFile);
    await expect(one.submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject(refused(caFile));
    writeFileSync(caFile, authority.pem);
    await tested.toTheEnd(one, 'SELECT 1');
  });
});

describe('TLS to the provider', () => {
  it('fetches a token where the authority is trusted, and sends the secret nowhere else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'provider-tls-'));
    const caFile = join(folder, 'ca.crt');
    const authority = new TestAuthority();
    writeFileSync(caFile, new TestAuthority().pem);
    const keycloak = new FakeKeycloak();
    const issuer = new URL(await keycloak.listen());
    const front = await TlsFront.start(issuer.origin, authority.issue(HOST));
    const timers = new SkippingTimers();
    const client = {
      tokenUrl: `${front.origin}${keycloak.tokenPath}`,
      caFile,
      clientId: 'grantline',
      clientSecret: new Secret('grantline-secret'),
      scope: null,
    };
    const [log, registry] = [new LogBook(), new Registry()];
    const tokens = new OAuthServiceTokenSource(
      client,
      timers,
      FIXED_RANDOM,
      new SystemClock(),
      log,
      new ServiceTokenMetrics(registry),
    );

    await expect(tokens.validToken()).rejects.toThrow('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(keycloak.requests).toEqual([]);
    writeFileSync(caFile, authority.pem);
    await timers.wait(600_000);
    expect(await tokens.validToken()).toBe(FakeKeycloak.token(1));

    tokens.close();
    await front.close();
    await keycloak.close();
    rmSync(folder, { recursive: true });
  });
});
