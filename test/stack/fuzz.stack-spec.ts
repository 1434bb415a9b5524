import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { administrator } from '../support/administrator.js';
import { ApiClient, signedUp } from '../support/api-client.js';
import { startService, type TestService } from '../support/service.js';
import { type Door, openDoor } from './fuzz/door.js';
import { schemathesis, type Sender } from './fuzz/schemathesis.js';

const AN_HOUR = 3_600_000;
const SIGNED_OUT = ['token_invalid', 'token_expired', 'password_change_required'];

/** Every route of the OpenAPI document, on a service that is thrown away; its own clock never moves, so that no token expires. */
describe('every answer is one that the OpenAPI document promises', () => {
  let folder: string;
  let service: TestService;
  let door: Door | null = null;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-fuzz-'));
    service = await startService({ AUTH_THROTTLE_ENABLED: 'false', ACL_FILE_DIRECTORY: join(folder, 'acl') });
  });
  afterEach(async () => {
    await door?.close();
    door = null;
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  it(
    'to nobody',
    async () => {
      await expectNoFindings({ door: null, spent: [] });
    },
    AN_HOUR,
  );

  it(
    'to a user',
    async () => {
      door = await openDoor(async () => (await signedUp(new ApiClient(service.url), someName())).access_token);
      await expectNoFindings({ door: door.url, spent: SIGNED_OUT });
    },
    AN_HOUR,
  );

  it(
    'to an administrator',
    async () => {
      door = await openDoor(async () => (await administrator(service, someName())).token);
      await expectNoFindings({ door: door.url, spent: [...SIGNED_OUT, 'administrator_required'] });
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
