import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { accessLines } from '../acl-sync/domain/access-text.js';
import { failureOf, reasonsOf, type RunFailure, type RunOutcome } from '../acl-sync/domain/publication.js';
import { findingText, runText } from '../acl-sync/domain/run-text.js';
import { type Preview, previewForm, PreviewService } from '../acl-sync/preview.service.js';
import { PublishingModule } from '../acl-sync/publishing.module.js';
import { StatusService } from '../acl-sync/status.service.js';
import { TargetCheckService } from '../acl-sync/target-check.service.js';
import { Clock } from '../kernel/clock.js';
import type { Settings } from '../platform/settings.js';
import { print, remark, withProgress } from './output.js';
import { withModules } from './with-modules.js';

interface Options {
  dryRun?: true;
  json?: true;
}

/** How long another run that holds the lock is waited for. */
const LOCK_TIMEOUT_MS = 60_000;
const EXIT: Record<RunOutcome['kind'], number> = { applied: 0, no_change: 0, refused: 1, failed: 2 };

/** One run of the sync. Exit code 0: published, or nothing to change; 1: refused by a check; 2: the target or another run is in the way. */
export async function syncRules({ dryRun, json }: Options): Promise<void> {
  const needs = { command: 'acl sync', module: (settings: Settings) => PublishingModule.with(settings) } as const;
  process.exitCode = await withModules(needs, async (modules) => {
    const target = modules.get(TargetCheckService);
    if (dryRun) return show(modules.get(PreviewService), target, json === true);
    const order = { trigger: 'cli', by: { actor: null, origin: null }, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;
    const result = await withProgress('the run is under way', modules.get(AclSyncService).run(order));
    if (result.kind === 'busy') {
      remark(`another run has been under way for ${LOCK_TIMEOUT_MS / 1000} s`);
      return 2;
    }
    const { outcome } = result;
    if (outcome.kind === 'failed') await explain(outcome.failure, target);
    const { published } = await modules.get(StatusService).status();
    if (json) print(JSON.stringify(outcomeForm(outcome)));
    else print(runText(outcome, published, modules.get(Clock).now()));
    return EXIT[outcome.kind];
  });
}

/** Logs which rights are missing, before the failure is reported. */
async function explain({ reason }: Pick<RunFailure, 'reason'>, target: TargetCheckService): Promise<void> {
  if (reason === 'forbidden') await target.check();
}

async function show(previews: PreviewService, target: TargetCheckService, json: boolean): Promise<number> {
  let preview: Preview;
  try {
    const result = await withProgress('compiling and checking', previews.preview(null));
    if (result.kind === 'too-many') throw new Error('a command makes one preview');
    preview = result.made;
  } catch (error) {
    const { reason, message } = failureOf(error);
    if (reason === 'internal') throw error;
    await explain({ reason }, target);
    remark(`${reason}: ${message}`);
    return 2;
  }
  print(json ? JSON.stringify(previewForm(preview)) : previewText(preview));
  return preview.plan.kind === 'refused' ? 1 : 0;
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

function previewText({ plan, candidate, diff }: Preview): string {
  const { rules, bytes, findings, access } = candidate;
  return [
    `the next run would ${WOULD[plan.kind]}: ${rules} rules, ${bytes} bytes`,
    ...(plan.drift ? ['  the live rules have been edited by hand'] : []),
    ...diff.removed.map((rule) => `- ${rule}`),
    ...diff.added.map((rule) => `+ ${rule}`),
    ...(access === null ? [] : accessLines(access)),
    ...findings.map(findingText),
  ].join('\n');
}

const WOULD: Record<Preview['plan']['kind'], string> = {
  publish: 'publish',
  no_change: 'change nothing',
  refused: 'be refused',
};
