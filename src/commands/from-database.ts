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
import { type AppliedForm, EMPTY_LISTS, SnapshotFilesService } from '../grants/snapshot-files.service.js';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { foldedName } from '../kernel/name.js';
import { isDatabaseOutage } from '../platform/database/database-outage.js';
import type { SettingsCommand } from '../platform/settings/settings-loader.js';
import { Settings } from '../platform/settings/settings.js';
import type { Principal } from '../trino-rules/model/principal.js';
import type { Question } from '../trino-rules/model/question.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { noAccountRemark } from './explain-question.js';
import { printRemark, withProgress, print, printJson, UnusableInput } from './output.js';
import { NoRemoteAnswer } from './remote-service.js';
import { printPreview, printRun, type ShownStatus } from './run-output.js';
import { withModules } from './with-modules.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem } from '../acl-sync/domain/restore.js';
import { parseDecimal } from '../kernel/decimal.js';
import { idProblem } from '../platform/http/validation.js';

/** The audit context of a command, without an actor, because nobody has signed in. */
export const CLI_CONTEXT: AuditContext = { actor: null, origin: null };

/** The longest wait of a command for another run, which holds the lock. */
const LOCK_TIMEOUT_MS = 60_000;

const COMMAND_RUN = { trigger: 'cli', by: CLI_CONTEXT, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;

/** Runs `work` with the modules for publishing and for snapshot files. No scheduled publication runs begin. */
function withPublishing<T>(
  command: SettingsCommand,
  work: (modules: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withModules(command, [PublishingModule, SnapshotFilesModule], work);
}

/** Waits for a run and prints how it ended. @returns the exit code */
async function reportRun(modules: INestApplicationContext, run: Promise<RunResult>, json: boolean): Promise<number> {
  const runResult = await withProgress('the run is under way', run);
  if (runResult.kind === 'busy') {
    printRemark(`another run has been under way for ${LOCK_TIMEOUT_MS / 1000} s`);
    return 2;
  }
  const { outcome } = runResult;
  if (outcome.kind === 'failed') await logMissingRights(outcome.failure.reason, modules);
  const { published } = await modules.get(PublicationsService).status();
  return printRun(outcome, json, { published, now: modules.get(Clock).now() });
}

async function logMissingRights(reason: RunFailure['reason'], modules: INestApplicationContext): Promise<void> {
  if (reason === 'forbidden') await modules.get(TargetProbe).checkAll();
}

/** Runs the sync in this process. @returns the exit code */
export async function syncFromDatabase(dryRun: boolean, json: boolean): Promise<number> {
  return withPublishing('acl sync', async (modules) => {
    if (!dryRun) return reportRun(modules, modules.get(AclSyncService).run(COMMAND_RUN), json);
    try {
      const preview = await withProgress('compiling and checking', modules.get(PreviewService).preview(null));
      return printPreview(preview, json);
    } catch (error) {
      const { reason, message } = failureOf(error);
      if (reason === 'internal') throw error;
      await logMissingRights(reason, modules);
      printRemark(`${reason}: ${message}`);
      return 2;
    }
  });
}

/** The state of publishing, with the newest versions. */
export function statusFromDatabase(limit: number): Promise<ShownStatus> {
  return withPublishing('acl status', async (modules) => {
    const { items } = await modules.get(PublicationHistory).list({ limit, after: null });
    const versions = items.map(({ publishedAt, isWithdrawal, ...versionFields }) => ({
      ...versionFields,
      published_at: publishedAt.toISOString(),
      is_withdrawal: isWithdrawal,
    }));
    return { status: statusForm(await modules.get(PublicationsService).status()), versions };
  });
}

/** The same answer as `GET /api/admin/access/explain` for the user with this name. */
export function explainFromDatabase(user: string, question: Question): Promise<ReturnType<typeof explanationForm>> {
  return withPublishing('acl explain', async (modules) => {
    const snapshotStore = modules.get(SnapshotStore);
    const publishedRules = modules.get(PublishedRules);
    const principalNames = modules.get(PrincipalNames);
    const accessService = new AccessService(
      snapshotStore,
      publishedRules,
      modules.get(UserStore),
      principalNames,
      modules.get(Settings),
    );
    return explanationForm(
      await accessService.explain(principalNamed(await snapshotStore.read(), user), question),
      false,
    );
  });
}

/** The principal with a name, compared without case: an account, or else an engine principal. */
function principalNamed({ users }: Snapshot, name: string): Principal {
  const account = users.find((user) => foldedName(user.name) === foldedName(name));
  if (account !== undefined) return { type: 'user', id: account.id };
  printRemark(noAccountRemark(name));
  return { type: 'engine', name };
}

/** Exports the recorded access. @param write gets the snapshot file, and the configured mode of files */
export function exportFromDatabase(write: (file: unknown, fileMode: number) => Promise<number>): Promise<number> {
  return withPublishing('snapshot export', async (modules) => {
    const file = await withProgress('exporting', modules.get(SnapshotFilesService, { strict: false }).export());
    return write(file, modules.get(Settings).acl.fileMode);
  });
}

/** Applies a parsed snapshot file. @throws Error that says whether the changes were made */
export function applyToDatabase(
  path: string,
  file: unknown,
  options: { isDryRun: boolean; mustPrune: boolean },
): Promise<AppliedForm> {
  return applyWithProgress(path, 'snapshot apply', (modules, report) =>
    modules.get(SnapshotFilesService, { strict: false }).apply(file, options, CLI_CONTEXT, report).catch(refusedForm),
  );
}

/** Turns the refusal of a file that would break a guarantee into the command's answer. Rethrows every other error. */
function refusedForm(error: unknown): AppliedForm {
  if (!(error instanceof Refused && error.code === 'guarantee_broken')) throw error;
  const problems = (error.details.errors ?? []).map(({ message }) => ({ path: '', message }));
  return { ...EMPTY_LISTS, outcome: 'refused', problems };
}

/** Makes a file's changes and reports the progress. @throws Error that says whether they were made, if the database fails */
export function applyWithProgress<T>(
  path: string,
  command: 'snapshot apply' | 'users import',
  work: (modules: INestApplicationContext, report: (progress: string) => void) => Promise<T>,
): Promise<T> {
  return withPublishing(command, (modules) => {
    let progress = 'reading what is recorded';
    const changesPromise = work(modules, (line) => (progress = line));
    return withProgress(() => progress, changesPromise).catch((error: unknown) => {
      throw fileFailure(path, error, command === 'snapshot apply' ? 'apply' : 'import');
    });
  });
}

/** Turns a failure of the database or the service into an error that says whether a file's changes were made. Keeps other errors. */
export function fileFailure(path: string, error: unknown, verb: 'apply' | 'import'): unknown {
  const advice = `whether the changes are made is not known: ${verb} the file again, which makes only those that are missing`;
  if (error instanceof NoRemoteAnswer) return new Error(`${path}: ${error.message}; ${advice}`, { cause: error });
  const isUnconfirmed = error instanceof CommitUnconfirmed;
  const cause: unknown = isUnconfirmed ? error.cause : error;
  if (!isDatabaseOutage(cause)) return cause;
  const outcomeText = isUnconfirmed ? advice : 'nothing was changed';
  return new Error(`${path}: the database is unavailable or too slow; ${outcomeText}`, { cause });
}

/**
 * Approves the change that waits for approval, as `POST /api/admin/acl/approvals` does, and publishes it by a run. Exit code 1: no change
 * with this hash waits for approval, or the run is refused; 2: the target failed or another run is in progress.
 */
export async function approveChange(hash: string, { json }: { json?: true }): Promise<number> {
  return withPublishing('acl approve', async (modules) => {
    try {
      await modules.get(PublicationsService).approve(hash.toLowerCase(), CLI_CONTEXT);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      printRemark(error.message);
      return 1;
    }
    return reportRun(modules, modules.get(AclSyncService).run(COMMAND_RUN), json === true);
  });
}

interface Options {
  reason?: string;
  hours?: string;
  end?: true;
  json?: true;
}

const USAGE = 'usage: grantline acl restore VERSION --reason TEXT [--hours N], or grantline acl restore --end';

/**
 * Publishes an older version for some hours, as `POST /api/admin/acl/publications/:version/restore` does, or ends such a restoration.
 * Exit code 1: there is no such version, or the run is refused; 2: wrong usage, the target failed, or another run is in progress.
 */
export async function restoreVersion(version: string | undefined, { end, json, ...request }: Options): Promise<number> {
  const isMixedUsage = end === true && (version ?? request.reason ?? request.hours) !== undefined;
  if (isMixedUsage || (end !== true && version === undefined)) throw new UnusableInput([USAGE]);
  return version === undefined ? endRestore(json === true) : restore(parseDecimal(version), request, json === true);
}

async function restore(version: number, request: Pick<Options, 'reason' | 'hours'>, json: boolean): Promise<number> {
  const { reason = '' } = request;
  const hours = request.hours === undefined ? LONGEST_RESTORE_HOURS : parseDecimal(request.hours);
  const problems = { version: idProblem(version), '--reason': reasonProblem(reason), '--hours': hoursProblem(hours) };
  const invalidFields = Object.entries(problems).filter(([, problem]) => problem !== null);
  if (invalidFields.length > 0) throw new UnusableInput(invalidFields.map(([field, problem]) => `${field} ${problem}`));
  return withPublishing('acl restore', async (modules) => {
    const restoreRun = modules.get(PublicationsService).restore(version, reason, hours, CLI_CONTEXT);
    return reportRun(modules, restoreRun, json).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      printRemark(`version ${version} was never published; acl status lists the newest`);
      return 1;
    });
  });
}

async function endRestore(json: boolean): Promise<number> {
  return withPublishing('acl restore', async (modules) => {
    const run = await modules.get(PublicationsService).endRestore(CLI_CONTEXT);
    if (run !== null) return reportRun(modules, Promise.resolve(run), json);
    if (json) printJson({ outcome: null });
    else print('no version is restored');
    return 0;
  });
}
