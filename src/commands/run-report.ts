import type { INestApplicationContext } from '@nestjs/common';
import type { RunResult } from '../acl-sync/acl-sync.service.js';
import type { RunFailure } from '../acl-sync/domain/publication.js';
import { PublishingModule } from '../acl-sync/publishing.module.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { TargetProbe } from '../acl-sync/heartbeat.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import type { SettingsUser } from '../platform/settings/settings-loader.js';
import { remark, withProgress } from './output.js';
import { printRun } from './run-output.js';
import { withModules } from './with-modules.js';

/** The actor of what a command does: no account, as nobody has signed in. */
export const BY_COMMAND: AuditContext = { actor: null, origin: null };

/** Works with the modules of publishing; this process runs no schedule. */
export function withPublishing<T>(
  command: SettingsUser,
  work: (modules: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withModules(command, [PublishingModule], work);
}

/** How long another run that holds the lock is waited for. */
const LOCK_TIMEOUT_MS = 60_000;

/** A run that a command asks for. */
export const RUN_BY_COMMAND = { trigger: 'cli', by: BY_COMMAND, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;

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
  if (outcome.kind === 'failed') await logMissingRights(outcome.failure.reason, modules.get(TargetProbe));
  const { published } = await modules.get(PublicationsService).status();
  return printRun(outcome, json, { published, now: modules.get(Clock).now() });
}

/** Logs which rights are missing, before the failure is reported. */
export async function logMissingRights(reason: RunFailure['reason'], target: TargetProbe): Promise<void> {
  if (reason === 'forbidden') await target.check();
}
