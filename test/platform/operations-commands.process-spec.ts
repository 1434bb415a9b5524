import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { administrator, people } from '../support/service/administrator.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { commandBlocks } from '../support/service/operations-guide.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { startService, type TestService } from '../support/service/service.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const run = promisify(execFile);

/** As long as it takes; a pod's `exec` happens here, each command of ours once, and the rest is noted. */
const KUBECTL = `#!/bin/bash
echo "kubectl $*" >> "$FOLDER/called"
[ "$1 $2 $3 $4" = '-n portal exec deployment/grantline' ] || exit 0
[ "$5 $6" = '-- node' ] || exit 64
cd "$ROOT"
[ "$7" = dist/main.js ] || exec node "\${@:7}"
kept="$FOLDER/$(printf '%s\\n' "\${@:8}" | tr -c 'a-z0-9\\n' - | tr '\\n' _)"
if [ ! -f "$kept" ]; then
  node dist/main.js "\${@:8}" > "$kept" 2>> "$FOLDER/said"
  echo "$? \${*:8}" >> "$FOLDER/ended"
fi
cat "$kept"
`;

describe('the commands in docs/operations.md', () => {
  const folder = sharedFolder('operations-commands-');
  let service: TestService;
  let operated: GrantlineProcess;
  let port: string;
  const environment = (): Record<string, string> => ({
    NODE_ENV: 'test',
    AUTH_SECRET_KEY: TEST_SECRET,
    AUTH_BCRYPT_COST: '4',
    ACL_SYNC_ENABLED: 'false',
    ACL_FILE_DIRECTORY: join(folder, 'acl'),
    SERVICE_QUERY_USER: 'service-account-grantline',
    DATABASE_URL_FILE: join(folder, 'database-url'),
    DATABASE_MIGRATION_URL: service.database.migrationUrl,
  });
  beforeAll(async () => {
    const named = { ACL_FILE_DIRECTORY: join(folder, 'acl'), SERVICE_QUERY_USER: 'service-account-grantline' };
    service = await startService(named);
    await writeFile(join(folder, 'database-url'), service.database.url);
    const admin = await administrator(service);
    const { ana } = await people(service, 'ana');
    for (const schema of ['eu', 'us', 'asia']) {
      const grant = {
        principal: { type: 'user', id: ana },
        resource: { catalog: 'sales', schema },
        privileges: ['SELECT'],
      };
      expect((await admin.post('/api/admin/grants', grant)).status).toBe(201);
      expect((await admin.post('/api/admin/acl/sync')).body).toMatchObject({ outcome: 'applied' });
    }
    operated = new GrantlineProcess(['serve'], { ...environment(), PORT: '0', OPERATIONS_PORT: '0' });
    [, port = ''] = await operated.untilOutput(/"operations":"http:\/\/[^":]+:(\d+)"/);
    await Promise.all(
      Object.entries({ kubectl: KUBECTL, helm: '#!/bin/true', docker: '#!/bin/true', jq: '#!/bin/true' }).map(
        async ([name, text]) => {
          await writeFile(join(folder, name), text);
          await chmod(join(folder, name), 0o755);
        },
      ),
    );
  });
  afterAll(async () => {
    operated.signal('SIGTERM');
    await operated.finished;
    await service.stop();
  });

  it('run as printed, after those of the first section: nothing is undefined, and none is wrong usage', async () => {
    const blocks = commandBlocks();
    expect(blocks[0]?.heading).toBe('Your shell');
    const script = ['set -u', ...blocks.map(({ script }) => script), 'echo to the end'].join('\n');
    const { stdout, stderr } = await run('bash', ['--norc', '-c', script.replaceAll(':9464', `:${port}`)], {
      cwd: folder,
      env: {
        ...environment(),
        FOLDER: folder,
        ROOT: process.cwd(),
        PATH: [folder, process.env['PATH']].join(delimiter),
        LOG_FORMAT: 'json',
      },
      maxBuffer: 2 ** 26,
    });

    expect(stderr).toBe('');
    expect(stdout).toMatch(/to the end\n$/);
    expect(stdout).toMatch(/^\{"status":"up","parts":\{.*"database":"up"/m);
    expect(stdout).toContain('connections');
    expect(stdout).toMatch(/^grantline_clock_offset_seconds /m);
    const ended = (await readFile(join(folder, 'ended'), 'utf8')).trim().split('\n');
    expect(ended.filter((line) => !/^[01] /.test(line))).toEqual([]);
    expect(ended).toEqual(
      expect.arrayContaining([
        '0 acl status',
        '0 acl sync --dry-run',
        '0 acl restore 2 --reason the newest version is too wide --hours 4',
        '0 acl restore --end',
        '1 acl approve ', // nothing waits
      ]),
    );
    expect(await readFile(join(folder, 'said'), 'utf8')).toMatch(/^No change waits for an approval\.$/m);
  });
});
