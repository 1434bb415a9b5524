import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/platform/database/database.js';
import type { Tokens } from '../support/service/api-client.js';
import { type Answered, requestText, Wire } from './http-load.js';
import { MeasuredProcess } from './measured-process.js';

export const PASSWORD = 'a password to measure with';
export const BCRYPT_COST = 12;
const SECRET = randomBytes(48).toString('base64');

/** The built service in a process of its own, with one account; further ones on the same database can be started beside it. */
export class AuthUnderTest {
  private constructor(
    readonly postgres: Pick<Database, 'url' | 'migrationUrl'>,
    readonly service: MeasuredProcess,
    /** The bytes of the account's login. */
    readonly login: string,
    readonly tokens: Tokens,
  ) {}

  static async start(postgres: Pick<Database, 'url' | 'migrationUrl'>): Promise<AuthUnderTest> {
    const service = await serve(postgres, {});
    const { login, tokens } = await signedIn(service, 'measured');
    return new AuthUnderTest(postgres, service, login, tokens);
  }

  another(environment: Record<string, string>, node?: string): Promise<MeasuredProcess> {
    return serve(this.postgres, environment, node);
  }

  /** A second account, or the same one again. */
  async somebodyElse(): Promise<Tokens> {
    return (await signedIn(this.service, 'somebody_else')).tokens;
  }

  me(token = this.tokens.access_token): string {
    return requestText('GET', '/api/auth/me', { token });
  }

  /** An API token of the account. */
  async apiToken(): Promise<string> {
    const wire = await Wire.open(this.service.port);
    const wanted = {
      name: 'measured',
      scopes: ['queries'],
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    };
    const options = { body: wanted, token: this.tokens.access_token };
    const { status, body } = await wire.send(requestText('POST', '/api/auth/tokens', options));
    wire.close();
    if (status !== 201) throw new Error(`${status} ${body}`);
    return (JSON.parse(body) as { token: string }).token;
  }

  async stop(): Promise<void> {
    await this.service.stop();
  }
}

/** Registers where there is no such account yet. */
async function signedIn({ port }: MeasuredProcess, username: string): Promise<{ login: string; tokens: Tokens }> {
  const wire = await Wire.open(port);
  const registration = { username, email: `${username}@example.org`, password: PASSWORD };
  await wire.send(requestText('POST', '/api/auth/register', { body: registration }));
  const login = requestText('POST', '/api/auth/login', { body: { username, password: PASSWORD } });
  const tokens = tokensIn(await wire.send(login));
  wire.close();
  return { login, tokens };
}

function serve(
  postgres: Pick<Database, 'url' | 'migrationUrl'>,
  environment: Record<string, string>,
  node?: string,
): Promise<MeasuredProcess> {
  const settings = {
    AUTH_SECRET_KEY: SECRET,
    AUTH_BCRYPT_COST: String(BCRYPT_COST),
    AUTH_THROTTLE_ENABLED: 'false',
    ACL_SYNC_ENABLED: 'false',
    PORT: '0',
    OPERATIONS_PORT: '0',
    DATABASE_URL: postgres.url,
    DATABASE_MIGRATION_URL: postgres.migrationUrl,
    ...environment,
  };
  return MeasuredProcess.start('dist/main.js', ['serve'], settings, node);
}

export function tokensIn({ status, body }: Answered): Tokens {
  if (status !== 200) throw new Error(`${status} ${body}`);
  return JSON.parse(body) as Tokens;
}

/** The claims of the access token that `me` looks up in the database. */
export function claimsIn(token: string): { sid: string; sub: string } {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sid: string; sub: string };
}
