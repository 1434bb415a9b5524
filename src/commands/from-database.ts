import type { INestApplicationContext } from '@nestjs/common';
import { AclSyncService, type RunResult } from '../acl-sync/acl-sync.service.js';
import { PublicationHistory } from '../acl-sync/domain/publication-history.js';
import { failureOf, type RunFailure } from '../acl-sync/domain/publication.js';
import { statusForm } from '../acl-sync/domain/run-text.js';
import { PreviewService } from '../acl-sync/preview.service.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { PublishingModule } from '../acl-sync/publishing.module.js';
import { TargetProbe } from '../acl-sync/heartbeat.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { AccessService } from '../grants/access.service.js';
import { explanationForm } from '../grants/domain/explanation-form.js';
import { PublishedRules } from '../grants/domain/admission-ports.js';
import { CommitUnconfirmed } from '../grants/access-writes.service.js';
import { SnapshotFilesModule } from '../grants/grants.module.js';
import { type AppliedForm, NOTHING, SnapshotFilesService } from '../grants/snapshot-files.service.js';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { foldedName } from '../kernel/name.js';
import { isDatabaseOutage } from '../platform/database/database-outage.js';
import type { SettingsUser } from '../platform/settings/settings-loader.js';
import { Settings } from '../platform/settings/settings.js';
import type { Principal } from '../trino-rules/model/principal.js';
import type { Question } from '../trino-rules/model/question.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { noAccount } from './explain-question.js';
import { remark, withProgress } from './output.js';
import { RemoteSilence } from './remote-service.js';
import { printPreview, printRun, type ShownStatus } from './run-output.js';
import { withModules } from './with-modules.js';

/** The audit context of a command, without an actor, because nobody has signed in. */
export const BY_COMMAND: AuditContext = { actor: null, origin: null };

/** How long a command waits for another run that holds the lock. */
const LOCK_TIMEOUT_MS = 60_000;

/** The terms of a run that a command requests. */
export const RUN_BY_COMMAND = { trigger: 'cli', by: BY_COMMAND, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;

/** Runs work with the modules of publishing, without their schedule. */
export function withPublishing<T>(
  command: SettingsUser,
  work: (modules: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withModules(command, [PublishingModule], work);
}

/** Runs work with the modules of snapshot files. */
function withFiles<T>(command: SettingsUser, work: (modules: INestApplicationContext) => Promise<T>): Promise<T> {
  return withModules(command, [PublishingModule, SnapshotFilesModule], work);
}

/** Waits for a run and prints how it ended. @returns the exit code */
export async function reportRun(
  modules: INestApplicationContext,
  run: Promise<RunResult>,
  json: boolean,
): Promise<number> {
  const result = await withProgress('the run is under way', run);
  if (result.kind === 'busy') {
    remark(`another run has been under way for ${LOCK_TIMEOUT_MS / 1000} s`);
    return 2;
  }
  const { outcome } = result;
  if (outcome.kind === 'failed') await logMissingRights(outcome.failure.reason, modules);
  const { published } = await modules.get(PublicationsService).status();
  return printRun(outcome, json, { published, now: modules.get(Clock).now() });
}

/** Logs which rights at the target are missing, before the failure is reported. */
async function logMissingRights(reason: RunFailure['reason'], modules: INestApplicationContext): Promise<void> {
  if (reason === 'forbidden') await modules.get(TargetProbe).check();
}

/** Runs the sync in this process. @returns the exit code */
export async function syncFromDatabase(dryRun: boolean, json: boolean): Promise<number> {
  return withPublishing('acl sync', async (modules) => {
    if (!dryRun) return reportRun(modules, modules.get(AclSyncService).run(RUN_BY_COMMAND), json);
    try {
      const preview = await withProgress('compiling and checking', modules.get(PreviewService).preview(null));
      return printPreview(preview, json);
    } catch (error) {
      const { reason, message } = failureOf(error);
      if (reason === 'internal') throw error;
      await logMissingRights(reason, modules);
      remark(`${reason}: ${message}`);
      return 2;
    }
  });
}

/** The state of publishing, with the newest versions. */
export function statusFromDatabase(limit: number): Promise<ShownStatus> {
  return withPublishing('acl status', async (modules) => {
    const { items } = await modules.get(PublicationHistory).list({ limit, after: null });
    const versions = items.map(({ publishedAt, isWithdrawal, ...shown }) => ({
      ...shown,
      published_at: publishedAt.toISOString(),
      is_withdrawal: isWithdrawal,
    }));
    return { status: statusForm(await modules.get(PublicationsService).status()), versions };
  });
}

/** The same answer as `GET /api/admin/access/explain` for the user with this name. */
export function explainFromDatabase(user: string, question: Question): Promise<ReturnType<typeof explanationForm>> {
  return withPublishing('acl explain', async (modules) => {
    const snapshots = modules.get(SnapshotStore);
    const [published, users, names] = [
      modules.get(PublishedRules),
      modules.get(UserStore),
      modules.get(PrincipalNames),
    ];
    const access = new AccessService(snapshots, published, users, names);
    return explanationForm(await access.explain(principalNamed(await snapshots.read(), user), question), false);
  });
}

/** The principal with a name, compared without case: an account, or else an engine principal. */
function principalNamed({ users }: Snapshot, name: string): Principal {
  const account = users.find((user) => foldedName(user.name) === foldedName(name));
  if (account !== undefined) return { type: 'user', id: account.id };
  remark(noAccount(name));
  return { type: 'engine', name };
}

/** @param write gets the snapshot file, and the configured mode of files */
export function exportFromDatabase(write: (file: unknown, mode: number) => Promise<number>): Promise<number> {
  return withFiles('snapshot export', async (modules) => {
    const file = await withProgress('exporting', modules.get(SnapshotFilesService, { strict: false }).export());
    return write(file, modules.get(Settings).acl.fileMode);
  });
}

/** @throws Error that says whether the changes were made */
export function applyToDatabase(
  path: string,
  value: unknown,
  options: { dryRun: boolean; prune: boolean },
): Promise<AppliedForm> {
  return applyWithProgress(path, 'snapshot apply', (modules, report) =>
    modules.get(SnapshotFilesService, { strict: false }).apply(value, options, BY_COMMAND, report).catch(refusedForm),
  );
}

/** The outcome of a file that would break a guarantee. @throws every other error */
function refusedForm(error: unknown): AppliedForm {
  if (!(error instanceof Refused && error.code === 'guarantee_broken')) throw error;
  const problems = (error.details.errors ?? []).map(({ message }) => ({ path: '', message }));
  return { ...NOTHING, outcome: 'refused', problems };
}

/** Makes a file's changes and reports the progress. @throws Error that says whether they were made, if the database fails */
export function applyWithProgress<T>(
  path: string,
  command: 'snapshot apply' | 'users import',
  work: (modules: INestApplicationContext, report: (progress: string) => void) => Promise<T>,
): Promise<T> {
  return withFiles(command, (modules) => {
    let progress = 'reading what is recorded';
    const made = work(modules, (line) => (progress = line));
    return withProgress(() => progress, made).catch((error: unknown) => {
      throw fileFailure(path, error, command === 'snapshot apply' ? 'apply' : 'import');
    });
  });
}

/** For a failure of the database or the service, an error that says whether a file's changes were made. Other errors stay unchanged. */
export function fileFailure(path: string, error: unknown, verb: 'apply' | 'import'): unknown {
  const unknown = `whether the changes are made is not known: ${verb} the file again, which makes only those that are missing`;
  if (error instanceof RemoteSilence) return new Error(`${path}: ${error.message}; ${unknown}`, { cause: error });
  const isUnconfirmed = error instanceof CommitUnconfirmed;
  const cause: unknown = isUnconfirmed ? error.cause : error;
  if (!isDatabaseOutage(cause)) return cause;
  const outcome = isUnconfirmed ? unknown : 'nothing was changed';
  return new Error(`${path}: the database is unavailable or too slow; ${outcome}`, { cause });
}
