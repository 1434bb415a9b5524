import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PublishingModule } from '../../../src/acl-sync/publishing.module.js';
import { planLine } from '../../../src/grants/domain/snapshot-changes.js';
import { SnapshotFilesModule } from '../../../src/grants/grants.module.js';
import { type AppliedForm, SnapshotFilesService } from '../../../src/grants/snapshot-files.service.js';
import { type ImportResult, UserImportService } from '../../../src/grants/user-import.service.js';
import { readPeople } from '../../../src/commands/users-file.js';
import { createPino, PinoLog } from '../../../src/platform/log/pino-log.js';
import { PlatformModule } from '../../../src/platform/platform.module.js';
import { parseSettings } from '../../../src/platform/settings/settings-parser.js';
import type { ExportedSnapshot } from '../../../src/trino-rules/model/snapshot-export.js';
import { administrator, people } from '../service/administrator.js';
import type { ApiClient } from '../service/api-client.js';
import { type Finished, runGrantline } from '../service/grantline-process.js';
import { TEST_SECRET } from '../service/secrets.js';
import { startService, type TestService } from '../service/service.js';

const RULES = {
  ACL_METADATA_CATALOG: 'grantline',
  ACL_WRITABLE_CATALOGS: 'lake',
  SERVICE_QUERY_USER: 'service-account-grantline',
};
export const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };
const readers = { type: 'group', name: 'readers' };

@Module({})
class Commands {}

/** In the order of an export. */
export const FILE = {
  version: 1,
  users: [{ name: 'alice' }, { name: 'bob' }, { name: 'cyn', is_active: false }],
  groups: [
    { name: 'auditors', members: ['cyn'] },
    { name: 'readers', members: ['alice', 'bob'], description: 'read for the "reports"' },
  ],
  grants: [
    {
      resource: { catalog: 'sales' },
      principal: { type: 'engine', name: 'etl-job' },
      privileges: ['SELECT'],
      description: 'nightly',
    },
    {
      resource: { catalog: 'sales', schema: 'eu' },
      principal: readers,
      privileges: ['SELECT', 'INSERT'],
      expires_at: '2099-12-01T00:00:00.000Z',
    },
  ],
  policies: [
    {
      resource: { ...ORDERS },
      kind: 'row_filter',
      principal: { type: 'everyone' },
      except: [{ type: 'group', name: 'auditors' }],
      expression: "region = 'EU'",
      description: 'law',
    },
    { resource: { ...ORDERS, column: 'card' }, kind: 'column_mask', principal: readers, expression: "'*'" },
    { resource: { ...ORDERS, column: 'ssn' }, kind: 'hidden_column', principal: readers },
    { resource: { catalog: 'sales', schema: 'hr' }, kind: 'deny', principal: readers, privileges: ['SELECT'] },
  ],
};

interface ApplyOptions {
  dryRun?: boolean;
  prune?: boolean;
}

/** A service, three accounts (cyn is deactivated), and the commands of snapshot files on its database. */
export interface SnapshotFiles {
  service: TestService;
  admin: ApiClient;
  ids: Record<'alice' | 'bob' | 'cyn', number>;
  folder: string;
  /** Of the commands. */
  environment: Record<string, string>;
  /** `grantline snapshot …` as a process. */
  run(...args: string[]): Promise<Finished>;
  /** `grantline snapshot apply` of a file with that content. */
  command(file: unknown, ...options: string[]): Promise<Finished>;
  /** What the commands call, without a process for each of them. */
  exported(): Promise<ExportedSnapshot>;
  planned(file: unknown, options?: ApplyOptions): Promise<AppliedForm>;
  /** A list of users with that text, by which accounts that have registered are taken, too. */
  imported(list: string, options?: { dryRun?: boolean }): Promise<ImportResult>;
  /** The lines of the plan. @throws Error with the problems of a refused file */
  apply(file: unknown, options?: ApplyOptions): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startSnapshotFiles(): Promise<SnapshotFiles> {
  const service = await startService(RULES);
  const admin = await administrator(service);
  const ids = await people(service, 'alice', 'bob', 'cyn');
  await admin.send('PATCH', `/api/admin/users/${ids.cyn}`, { is_active: false });
  const folder = await mkdtemp(join(tmpdir(), 'snapshot-files-'));
  const { settings } = parseSettings({
    ...{ NODE_ENV: 'test', DATABASE_URL: service.database.url, ACL_FILE_DIRECTORY: join(folder, 'acl'), ...RULES },
  });
  const log = new PinoLog(createPino(settings.log, { write: () => undefined }));
  const platform = PlatformModule.forRoot({ settings, database: service.database, log });
  const root = { module: Commands, imports: [platform, PublishingModule, SnapshotFilesModule] };
  const modules = await NestFactory.createApplicationContext(root, { logger: false });

  const environment = {
    NODE_ENV: 'test',
    AUTH_SECRET_KEY: TEST_SECRET,
    DATABASE_URL: service.database.url,
    DATABASE_MIGRATION_URL: service.database.migrationUrl,
    ACL_FILE_DIRECTORY: join(folder, 'acl'),
    ...RULES,
  };
  const run = (...args: string[]) => runGrantline(['snapshot', ...args], environment);
  const command = async (file: unknown, ...options: string[]) => {
    const path = join(folder, 'access');
    await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file));
    return run('apply', path, ...options);
  };
  /** What the commands call, without a process for each of them. */
  const exported = () => modules.get(SnapshotFilesService).export();
  const planned = (file: unknown, { dryRun = false, prune = false } = {}) =>
    modules
      .get(SnapshotFilesService)
      .apply(file, { isDryRun: dryRun, mustPrune: prune }, { actor: null, origin: null });
  const imported = (list: string, { dryRun = false } = {}) =>
    modules
      .get(UserImportService)
      .import(readPeople(list), { isDryRun: dryRun, acceptsRegistered: true }, { actor: null, origin: null });
  const apply = async (file: unknown, options: { dryRun?: boolean; prune?: boolean } = {}) => {
    const applied = await planned(file, options);
    if (applied.outcome === 'refused') throw new Error(JSON.stringify(applied.problems));
    return applied.plan.map(planLine);
  };
  const stop = async () => {
    await modules.close();
    await service.stop();
    await rm(folder, { recursive: true });
  };
  return { service, admin, ids, folder, environment, run, command, exported, planned, imported, apply, stop };
}
