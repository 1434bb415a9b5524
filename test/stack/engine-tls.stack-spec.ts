import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { NodeTimers, SystemClock } from '../../src/kernel/clock.js';
import { SystemRandom } from '../../src/kernel/ids.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import { NO_SERVICE_TOKENS } from '../../src/query-engine/domain/service-token.js';
import { EngineFault } from '../../src/query-engine/domain/engine-error.js';
import { TrinoStatementClient } from '../../src/query-engine/trino-statement-client.js';
import { FakeServiceTokenSource } from '../support/fakes/fake-service-token-source.js';
import { LogBook } from '../support/fakes/log-book.js';
import { type Credentials, TestAuthority } from '../support/fakes/test-authority.js';
import { FAMILIES, type Family } from './loop/statement.js';
import { emptyRules } from './running/config-map.js';
import { type EngineMode, startEngine } from './running/engine.js';
import { serviceToken } from './running/identity-provider.js';
import { openEngine } from './running/open-engine.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const processes = new Processes(mkdtempSync(join(stack.folder, 'tls-')));
const SERVICE_ACCOUNT = `service-account-${stack.realm.grantline.id}`;
const HOST = ['127.0.0.1'];
const TOKENS = ['valid', 'expired', "another issuer's", "another client's", 'none'] as const;
type Token = (typeof TOKENS)[number];

const authority = new TestAuthority();
const caFile = join(processes.folder, 'ca.crt');
const keystore = join(processes.folder, 'server.pem');
const rulesFolder = join(processes.folder, 'rules');
const engines = {} as Record<EngineMode, string>;
const tokens = {} as Record<Token, string | null>;

const present = ({ cert, key }: Credentials) => writeFileSync(keystore, cert + key);

class FixedToken extends FakeServiceTokenSource {
  constructor(private readonly token: string) {
    super();
  }

  override newestToken(): string {
    return this.token;
  }
}

/** What Grantline's own client gets for one statement: the rows, or why there are none. */
async function outcome(mode: EngineMode, family: Family, token: Token): Promise<unknown> {
  const address = {
    origin: engines[mode],
    path: '',
    headers: {},
    password: null,
    caFile: mode === 'tls' ? caFile : null,
    user: SERVICE_ACCOUNT,
    headerPrefix: family,
    forwardedProto: mode === 'verified' ? 'https' : null,
    compression: 'none',
    maxPageBytes: 2 ** 25,
  } as const;
  const timers = new NodeTimers();
  const bearer = tokens[token];
  const source = bearer === null ? NO_SERVICE_TOKENS : new FixedToken(bearer);
  const client = new TrinoStatementClient(
    address,
    source,
    timers,
    new SystemRandom(),
    new SystemClock(),
    new LogBook(),
  );
  const [session, limits] = [sessionFor(SERVICE_ACCOUNT, {}), { deadline: timers.now() + 60_000 }];
  try {
    let { page } = await client.submit('SELECT current_user', session, limits);
    const rows = [...page.rows.batches()].flat();
    while (page.nextPath !== null) {
      ({ page } = await client.advance(page.nextPath, session, limits));
      rows.push(...[...page.rows.batches()].flat());
    }
    return page.error?.message ?? rows;
  } catch (error) {
    if (error instanceof EngineFault) return error.message;
    throw error;
  } finally {
    client.close();
  }
}

beforeAll(async () => {
  mkdirSync(rulesFolder);
  writeFileSync(join(rulesFolder, 'rules.json'), JSON.stringify({ queries: [{ allow: ['execute'] }] }));
  writeFileSync(caFile, authority.pem);
  present(authority.issue(HOST));
  const { parts, issuer } = stack;
  const tls = await startEngine(processes, parts, { mode: 'tls', issuer, rulesFolder, keystore });
  Object.assign(engines, { ...stack.engines, tls });
  await openEngine(stack);
  tokens.expired = await serviceToken(issuer, stack.realm.shortLived);
  tokens["another client's"] = await serviceToken(issuer, stack.realm.otherTool);
  tokens["another issuer's"] = forged(await serviceToken(issuer, stack.realm.grantline));
  tokens.none = null;
  await until('the token of one second has expired', 30_000, async () =>
    String(await outcome('tls', 'X-Trino', 'expired')).includes('expired') ? true : undefined,
  );
  tokens.valid = await serviceToken(issuer, stack.realm.grantline);
  await until('the verified engine is open, too', 30_000, async () =>
    Array.isArray(await outcome('verified', 'X-Trino', 'valid')) ? true : undefined,
  );
});
afterAll(async () => {
  await emptyRules(kubectlOf(stack));
  await processes.stopAll();
});

/** The same claims of another issuer, signed with a key of its own. */
function forged(token: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [head = '', body = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
  const text = `${head}.${Buffer.from(JSON.stringify({ ...claims, iss: 'https://elsewhere.example.org' })).toString('base64url')}`;
  return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
}

const ROWS = [[SERVICE_ACCOUNT]];
/** The guide's table: by a token, what an engine of each mode answers. */
const DOCUMENTED = new Map(
  readFileSync('helm/engine/README.md', 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, token = '', insecure = '', verified = '', tls = '']) => [token, { insecure, verified, tls }]),
);

describe.each(FAMILIES)('asked with %s headers', (family) => {
  describe.each(['insecure', 'verified', 'tls'] as const)('a %s engine answers as the guide says', (mode) => {
    it.each(TOKENS)('to a token that is %s', async (token) => {
      const documented = DOCUMENTED.get(token)?.[mode] ?? 'not documented';
      const refused = expect.stringMatching(`^POST was answered with ${documented}`) as unknown;

      expect(await outcome(mode, family, token)).toEqual(documented === 'runs' ? ROWS : refused);
    });
  });
});

describe('the certificate of an engine', () => {
  const asked = () => outcome('tls', 'X-Query', 'valid');
  afterEach(async () => {
    writeFileSync(caFile, authority.pem);
    present(authority.issue(HOST));
    await until('the engine is trusted again', 30_000, async () => (Array.isArray(await asked()) ? true : undefined));
  });

  it('may be replaced while it runs, with its authority', async () => {
    const successor = new TestAuthority();
    present(successor.issue(HOST));
    await until('the former authority counts no more', 30_000, async () =>
      (await asked()) === 'POST: UNABLE_TO_VERIFY_LEAF_SIGNATURE' ? true : undefined,
    );
    writeFileSync(caFile, successor.pem);
    expect(await asked()).toEqual(ROWS);
  });

  it('must name the host', async () => {
    present(authority.issue(['trino.example.org']));
    await until('the name is refused', 30_000, async () =>
      (await asked()) === 'POST: ERR_TLS_CERT_ALTNAME_INVALID' ? true : undefined,
    );
  });
});
