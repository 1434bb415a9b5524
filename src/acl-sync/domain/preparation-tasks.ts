import { createPrivateKey } from 'node:crypto';
import { versionTag } from '../../kernel/entity-tag.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { bundleArchive, keyId } from '../../trino-rules/opa/archive.js';
import { POLICY_FILES } from '../../trino-rules/opa/policy-files.js';
import { firstStep } from '../../trino-rules/transition/first-step.js';
import { admissionVerdict, compileFor, type Preparation, prepare, type TooLarge } from './candidate.js';
import { prepareWithdrawal, type WithdrawalOrder } from './prepared-withdrawal.js';
import { proofOf } from './target-state.js';
import { accessChange, provedDataOfSnapshot } from './version-access.js';

/** The tasks that run outside the event loop, because they take seconds. @param compiler digest of the compiler's code */
export function preparationTasks(compiler: string) {
  return {
    prepare: (preparation: Preparation) => prepare(preparation, compiler),
    withdraw: (preparation: Preparation, order: WithdrawalOrder) => prepareWithdrawal(preparation, compiler, order),
    compile: compiledText,
    compare: accessChange,
    /** Proves the OPA data of a stored snapshot. */
    prove: (snapshot: string) => provedDataOfSnapshot(snapshot).findings,
    firstStep,
    bundle: publishedBundle,
    admit: admissionVerdict,
    /** Does nothing; its answer shows that the program is loaded. */
    load: () => null,
  };
}

export type PreparationTasks = ReturnType<typeof preparationTasks>;
export type TaskName = keyof PreparationTasks;

export interface PreparationTask<Name extends TaskName = TaskName> {
  name: Name;
  args: Parameters<PreparationTasks[Name]>;
}

export type TaskResult<Name extends TaskName> = ReturnType<PreparationTasks[Name]>;

export function runTask<Name extends TaskName>(
  tasks: PreparationTasks,
  { name, args }: PreparationTask<Name>,
): TaskResult<Name> {
  return Reflect.apply(tasks[name], undefined, args) as TaskResult<Name>;
}

/** Compiles rules without checking them. @param limit the target's limit in bytes; null: no limit */
function compiledText(snapshot: Snapshot, limit: number | null): { kind: 'compiled'; text: string } | TooLarge {
  const compileResult = compileFor(snapshot, limit);
  return compileResult.kind === 'compiled' ? { kind: 'compiled', text: compileResult.rules.text } : compileResult;
}

/** A bundle as OPA downloads it. */
export interface PublishedBundle {
  /** The HTTP entity tag, such as `"v77-…"`. Made without the signature: replicas must have equal tags, and ES256 signs equal content differently. */
  tag: string;
  archive: Uint8Array;
}

/**
 * Makes the bundle for OPA of a published snapshot, in JSON.
 * @param key the signing key in PEM; null: the bundle is unsigned
 * @throws Error if the proof of the data fails, or the snapshot has an unknown form
 */
function publishedBundle(snapshot: string, revision: string, key: string | null): PublishedBundle {
  const { text, findings } = provedDataOfSnapshot(snapshot);
  const [finding] = findings;
  if (finding !== undefined) throw new Error(`the data for OPA is not proved: ${finding.message}`);
  const signingKey = key === null ? null : createPrivateKey(key);
  const contentTag = versionTag([text, POLICY_FILES, signingKey && keyId(signingKey)]);
  const proof = key === null ? '' : `.${proofOf(revision, key)}`;
  const tag = `"${revision}-${contentTag.slice(1, -1)}${proof}"`;
  return { tag, archive: bundleArchive(text, revision, signingKey) };
}
