import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { administrator } from '../support/service/administrator.js';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { isLanding } from '../support/landing.js';
import { startService, type TestService } from '../support/service/service.js';
import { type TokenServer, startTokenServer } from './fuzz/token-server.js';
import { schemathesis, type Sender } from './fuzz/schemathesis.js';

const AN_HOUR = 3_600_000;
const SIGNED_OUT = ['token_invalid', 'token_expired', 'password_change_required'];

/** Every route of the OpenAPI document, on a service that is thrown away; its own clock never moves, so that no token expires. */
describe('every answer is one that the OpenAPI document promises', () => {
  let folder: string;
  let service: TestService;
  let tokenServer: TokenServer | null = null;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-fuzz-'));
    service = await startService({ AUTH_THROTTLE_ENABLED: 'false', ACL_FILE_DIRECTORY: join(folder, 'acl') });
  });
  afterEach(async () => {
    await tokenServer?.close();
    tokenServer = null;
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  const senders = [
    { name: 'an administrator', signIn: () => administrator(service, someName()).then(({ token }) => token) },
    {
      name: 'a user',
      signIn: () => signedUp(new ApiClient(service.url), someName()).then((user) => user.access_token),
    },
    { name: 'a client without a session', signIn: null },
  ];

  // At a landing only the administrator, who gets furthest.
  it.each(isLanding ? senders.slice(0, 1) : senders)(
    'to $name',
    async ({ name, signIn }) => {
      tokenServer = signIn && (await startTokenServer(signIn));
      const revokingCodes = name === 'an administrator' ? [...SIGNED_OUT, 'administrator_required'] : SIGNED_OUT;
      await expectNoFindings({ tokenUrl: tokenServer?.url ?? null, revokingCodes });
    },
    AN_HOUR,
  );

  async function expectNoFindings(sender: Sender): Promise<void> {
    const { exitCode, report } = await schemathesis(service.url, sender, folder);
    if (exitCode !== 0) throw new Error(report);
    process.stderr.write(`${summary(report)}\n`);
  }
});

let names = 0;

function someName(): string {
  names += 1;
  return `fuzzer_${names}`;
}

/** How to have the same run again, and how much it did. */
function summary(report: string): string {
  return [report.split('\n', 1)[0], ...report.split('\n').filter((line) => line.includes('generated,'))].join(' ');
}
