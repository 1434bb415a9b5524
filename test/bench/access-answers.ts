import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { migrate } from '../../src/platform/database/migrator.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { LEVELS, type Node } from '../../src/trino-rules/model/node.js';
import { timed } from '../stack/progress.js';
import { passwordOf, signIn, ApiClient } from '../support/service/api-client.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { fill } from './filling.js';
import { MeasuredProcess } from './measured-process.js';
import { median, quantile, ratioTable } from './ratio.js';
import { snapshotOf, workloadName, type Workload } from './workload.js';

const TURNS = 40;
/** Questions before, as a service has answered that runs for longer. */
const WARM_UP = 40;
const DRAFT_MS = 300;

/** What `explain`, `effective`, `who` and a draft cost over HTTP, against one compilation of the same snapshot. */
export async function accessAnswers(folder: string, workload: Workload): Promise<string> {
  const snapshot = snapshotOf(workload);
  const database = await joinEmbeddedPostgres(join(folder, `answers-${workload.size}`), () => undefined);
  const environment = {
    AUTH_SECRET_KEY: randomBytes(48).toString('base64'),
    DATABASE_URL: database.url,
    DATABASE_MIGRATION_URL: database.migrationUrl,
    ACL_FILE_DIRECTORY: join(folder, 'answers-acl'),
    ACL_WRITABLE_CATALOGS: snapshot.settings.writableCatalogs.join(','),
    ACL_METADATA_CATALOG: 'none',
    ACL_SYNC_ENABLED: 'false',
    PORT: '0',
    OPERATIONS_PORT: '0',
  };
  try {
    await migrate(database.migrationUrl, database.url);
    await timed(`${workloadName(workload)}, written into a database`, async () => {
      await fill(database.migrationUrl, snapshot);
      await continueIds(database.migrationUrl);
    });
    const created = await runGrantline(
      ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'],
      environment,
      `${passwordOf('boss')}\n`,
    );
    if (created.code !== 0) throw new Error(created.stderr);
    const service = await MeasuredProcess.start('dist/main.js', ['serve'], environment);
    try {
      const client = new ApiClient(`http://127.0.0.1:${service.port}`);
      const admin = client.as((await signIn(client, 'boss')).access_token);
      await timed('published', () => admin.post('/api/admin/acl/sync', {}));
      compile(snapshot);
      const compilation = median(Array.from({ length: 3 }, () => elapsed(() => compile(snapshot))));
      const turn = (i: number) => {
        const user = snapshot.users[(i * 37) % snapshot.users.length]?.id ?? 1;
        const node = snapshot.grants[(i * 251) % snapshot.grants.length]?.resource ?? { catalog: 'none' };
        const group = snapshot.groups[i % snapshot.groups.length]?.id ?? 1;
        return { user, node, group, query: nodeQuery(node) };
      };
      const asked = async (ask: (i: number) => Promise<{ status: number }>): Promise<number[]> => {
        for (let i = 0; i < WARM_UP; i++) await ask(i);
        const taken: number[] = [];
        for (let i = 1; i <= TURNS; i++) {
          const begun = performance.now();
          const { status } = await ask(i);
          if (status !== 200) throw new Error(`answered ${status}`);
          taken.push(performance.now() - begun);
        }
        return taken;
      };
      const answers = {
        explain: await asked((i) =>
          admin.get(`/api/admin/access/explain?principal=user:${turn(i).user}&${turn(i).query}&privilege=SELECT`),
        ),
        effective: await asked((i) => admin.get(`/api/admin/access/effective?principal=user:${turn(i).user}`)),
        who: await asked((i) => admin.get(`/api/admin/access/who?${turn(i).query}`)),
        draft: await asked((i) =>
          admin.post('/api/admin/access/preview', {
            grant: [
              { principal: { type: 'group', id: turn(i).group }, resource: turn(i).node, privileges: ['SELECT'] },
            ],
          }),
        ),
      };
      const figures = (taken: readonly number[]): string =>
        `${median(taken).toFixed(0)} ms, nine of ten within ${quantile(taken, 0.9).toFixed(0)} ms`;
      return [
        `${workloadName(workload)}: one compilation ${compilation.toFixed(0)} ms; each answer ${TURNS} times, over HTTP`,
        ratioTable(
          Object.entries(answers).map(([what, taken]) => ({
            what: `${what} / compilation`,
            ratio: median(taken) / compilation,
            target: what === 'explain' ? { atMost: 0.01 } : null,
            figures: figures(taken),
          })),
        ),
        `draft of one grant to a group: ${median(answers.draft) <= DRAFT_MS ? 'met' : 'MISSED'} (at most ${DRAFT_MS} ms)`,
      ].join('\n');
    } finally {
      await service.stop();
    }
  } finally {
    await database.release();
  }
}

/** Rows that are written with their own ids leave the sequences behind. */
async function continueIds(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    for (const table of ['users', 'groups', 'grants', 'policies']) {
      await client.query(
        `SELECT setval(pg_get_serial_sequence($1, 'id'), (SELECT coalesce(max(id), 1) FROM ${table}))`,
        [table],
      );
    }
  } finally {
    await client.end();
  }
}

function elapsed(work: () => unknown): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

function nodeQuery(node: Node): string {
  const query = new URLSearchParams();
  for (const level of LEVELS) if (node[level] !== undefined) query.set(level, node[level]);
  return query.toString();
}
