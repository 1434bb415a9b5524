import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { migrate } from '../../src/platform/database/migrator.js';
import { writeSnapshot } from '../../src/trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { duration, timed } from '../stack/progress.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { snapshotOf, workloadName, type Workload } from './workload.js';
import { fill } from './filling.js';

/**
 * A snapshot that is too large for a ConfigMap through the built executable: `acl compile` from a snapshot file; `acl sync` from a database into a file,
 * and into a ConfigMap, which has to refuse it.
 */
export async function publications(folder: string, workload: Workload): Promise<string[]> {
  const snapshot = snapshotOf(workload);
  const compiled = await compileFile(snapshot, folder);
  const database = await joinEmbeddedPostgres(join(folder, 'database'), () => undefined);
  const kubernetes = new FakeKubernetesApi();
  try {
    await migrate(database.migrationUrl, database.url);
    await timed(`${workloadName(workload)}, written into a database`, () => fill(database.migrationUrl, snapshot));
    const sync = (target: Record<string, string>) =>
      grantline(['acl', 'sync', '--json'], {
        AUTH_SECRET_KEY: 'only-for-measuring-0123456789-abcdefghijk',
        DATABASE_URL: database.url,
        DATABASE_MIGRATION_URL: database.migrationUrl,
        ACL_WRITABLE_CATALOGS: snapshot.settings.writableCatalogs.join(','),
        ACL_METADATA_CATALOG: 'none',
        ...target,
      });
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, [...kubernetes.tokens].join(''));
    const map = await sync({
      ACL_TARGET: 'configmap',
      ACL_CONFIGMAP_NAMESPACE: 'engine',
      ACL_CONFIGMAP_NAME: 'trino-access-control',
      KUBERNETES_API_URL: await kubernetes.listen(),
      KUBERNETES_TOKEN_FILE: tokenFile,
    });
    const file = await sync({ ACL_TARGET: 'file', ACL_FILE_DIRECTORY: join(folder, 'acl') });
    return [
      compiled,
      `acl sync, ConfigMap: ${figuresOf(map)}\n  ${map.stdout.trim()}`,
      `acl sync, file: ${figuresOf(file)}\n  ${file.stdout.trim()}`,
    ];
  } finally {
    await kubernetes.close();
    await database.release();
  }
}

async function compileFile(snapshot: Snapshot, folder: string): Promise<string> {
  const file = join(folder, 'extreme.json');
  writeFileSync(file, JSON.stringify(writeSnapshot(snapshot)));
  const ended = await grantline(['acl', 'compile', '--snapshot', file, '--out', join(folder, 'compiled')], {});
  // The lines below the first are warnings: generated policies contradict each other here and there.
  const [summary = ''] = ended.stdout.split('\n', 1);
  return `acl compile: ${figuresOf(ended)}\n  ${summary}`;
}

interface Ended {
  code: number | null;
  stdout: string;
  peak: string;
  milliseconds: number;
}

/** One command of the built executable, to its end. */
async function grantline(args: readonly string[], settings: Record<string, string>): Promise<Ended> {
  return timed(`${args.slice(0, 2).join(' ')} ${settings['ACL_TARGET'] ?? ''}`, async () => {
    const began = performance.now();
    const { PATH = '', HOME = '' } = process.env;
    const program = ['--import', join(import.meta.dirname, 'peak-memory.mjs'), 'dist/main.js', ...args];
    const child = spawn(process.execPath, program, {
      env: { PATH, HOME, NODE_ENV: 'test', ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((done) => child.once('exit', done));
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const [, peak] = /peak (\d+ MiB)/.exec(stderr) ?? [];
    if (peak === undefined) throw new Error(stderr);
    return { code, stdout, peak, milliseconds: performance.now() - began };
  });
}

function figuresOf({ code, peak, milliseconds }: Ended): string {
  return `exit code ${String(code)} after ${duration(milliseconds)}, at most ${peak}`;
}
