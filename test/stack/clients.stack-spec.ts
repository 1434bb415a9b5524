import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { administrator } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';
import { pythonWalk, typescriptWalk } from './clients/generators.js';

describe('clients that are generated from the OpenAPI document', () => {
  let folder: string;
  let service: TestService;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-client-'));
    service = await startService({ ACL_FILE_DIRECTORY: join(folder, 'acl') });
    writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${service.url}/api/openapi.json`)).text());
  });
  afterEach(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['TypeScript', typescriptWalk],
    ['Python', pythonWalk],
  ])('compile, and walk as README does, in %s', async (_, walkIn) => {
    const [program, ...args] = await walkIn(folder);
    const { token } = await administrator(service);
    const { stdout } = await promisify(execFile)(program, [...args, service.url, token], { cwd: folder });

    expect(JSON.parse(stdout)).toEqual({
      me: 'ana',
      expires_in: 1_800,
      granted: 'tiny',
      outcome: 'applied',
      published: 1,
      again: 'username_taken',
    });
  });
});
