import type { INestApplicationContext } from '@nestjs/common';
import type { RunResult } from '../acl-sync/acl-sync.service.js';
import { reasonsOf, type RunFailure, type RunOutcome } from '../acl-sync/domain/publication.js';
import { runText } from '../acl-sync/domain/run-text.js';
import { PublishingModule } from '../acl-sync/publishing.module.js';
import { StatusService } from '../acl-sync/status.service.js';
import { TargetProbe } from '../acl-sync/target-probe.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import type { SettingsUser } from '../platform/settings-loader.js';
import { print, remark, withProgress } from './output.js';
import { withModules } from './with-modules.js';

/** The actor of what a command does: no account, as nobody has signed in. */
export const BY_COMMAND: AuditContext = { actor: null, origin: null };

/** Works with the modules of publishing; this process runs no schedule. */
export function withPublishing<T>(
  command: SettingsUser,
  work: (modules: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withModules(command, (settings) => PublishingModule.with(settings), work);
}

/** How long another run that holds the lock is waited for. */
const LOCK_TIMEOUT_MS = 60_000;

/** A run that a command asks for. */
export const RUN_BY_COMMAND = { trigger: 'cli', by: BY_COMMAND, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;

const EXIT: Record<RunOutcome['kind'], number> = { applied: 0, no_change: 0, refused: 1, failed: 2 };

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
  const { published } = await modules.get(StatusService).status();
  print(json ? JSON.stringify(outcomeForm(outcome)) : runText(outcome, published, modules.get(Clock).now()));
  return EXIT[outcome.kind];
}

/** Logs which rights are missing, before the failure is reported. */
export async function logMissingRights(reason: RunFailure['reason'], target: TargetProbe): Promise<void> {
  if (reason === 'forbidden') await target.check();
}

/** As the API names things; of the publication no more than fits a line, and a failure is an answer here. */
function outcomeForm(outcome: RunOutcome): object {
  const publication = outcome.kind === 'failed' ? null : outcome.publication;
  return {
    outcome: outcome.kind,
    publication: publication && {
      version: publication.version,
      hash: publication.hash,
      rules: publication.rules,
      bytes: publication.bytes,
    },
    awaits: outcome.kind === 'refused' ? outcome.awaits : null,
    reasons: reasonsOf(outcome),
  };
}
