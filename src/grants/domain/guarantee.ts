import { versionTag } from '../../kernel/entity-tag.js';
import { Refused } from '../../kernel/errors.js';
import { brokenText, type GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import { type Guarantee, canRefuse, judgedNodes, principalsIn } from '../../trino-rules/model/guarantee.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { joinPath, SnapshotDecoder } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotPrincipalReader, SnapshotRowReader } from '../../trino-rules/model/snapshot-rows.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { descriptionProblem } from './grant.js';
import { type TouchedScope, makeTouchTest } from './snapshot-store.js';

export const MAX_GUARANTEES = 500;

/** The scope of a change that can affect every guarantee. */
export const WHOLE_SCOPE: TouchedScope = { nodes: [{}, { catalog: SYSTEM }, { engine: true }], groups: [] };

export interface RecordedGuarantee {
  guarantee: Guarantee;
  description: string | null;
  writtenBy: { id: number; name: string } | null;
  createdAt: Date;
  changedAt: Date;
  judgedAt: Date | null;
  /** Since when the guarantee is broken; null: it held at the last verdict, or there is no verdict yet. */
  brokenSince: Date | null;
  /** The last verdict; null: not judged yet. */
  judgement: Pick<GuaranteeVerdict, 'brokenBy' | 'witnesses' | 'checked'> | null;
  /** Names of the guarantee's users and groups, by `principalText`. Null: the guarantee has no users or groups, or `listAll` read it without names. */
  names: Readonly<Record<string, string>> | null;
}

/** The entity tag of a guarantee. Every change of the guarantee changes the tag; a verdict or a new name of a principal does not. */
export function guaranteeVersion({ guarantee, description, changedAt }: RecordedGuarantee): string {
  return versionTag([guarantee, description, changedAt]);
}

type GuaranteeDraft = Pick<RecordedGuarantee, 'guarantee' | 'description'>;

/** Reads a body that is a guarantee. @throws Refused `validation_failed` with all errors */
export function readGuarantee(body: object, snapshot: Snapshot): GuaranteeDraft {
  return withReader(snapshot, (_, readDraft) => readDraft(body, ''));
}

/** Reads the guarantees of a body, and gives them negative ids; null: the body has none. @throws Refused `validation_failed` with all errors */
export function readGuarantees(body: object, snapshot: Snapshot): GuaranteeDraft[] | null {
  return withReader(snapshot, (decoder, readDraft) => {
    const { guarantees } = decoder.object(body, '', ['guarantees']);
    if (Array.isArray(guarantees) && guarantees.length > MAX_GUARANTEES)
      decoder.addProblem('guarantees', `must have at most ${MAX_GUARANTEES} entries`);
    let id = 0;
    const readNext = (value: unknown, path: string): GuaranteeDraft => readDraft(value, path, --id);
    return guarantees === undefined ? null : decoder.list(guarantees, 'guarantees', readNext);
  });
}

function withReader<T>(
  { users, groups, settings }: Snapshot,
  work: (decoder: SnapshotDecoder, readDraft: (value: unknown, path: string, id?: number) => GuaranteeDraft) => T,
): T {
  const decoder = new SnapshotDecoder();
  const names = new SnapshotPrincipalReader(decoder, users, groups, settings, undefined, 'that is recorded');
  const reader = new GuaranteeReader(decoder, new SnapshotRowReader(decoder, names, settings));
  const result = work(decoder, (value, path, id = 0) => {
    const guarantee = reader.readGuarantee(value, path, id);
    const { description = null } = (value ?? {}) as { description?: string | null };
    const problem = descriptionProblem(description);
    if (problem !== null && typeof description === 'string') decoder.addProblem(joinPath(path, 'description'), problem);
    return { guarantee, description };
  });
  if (decoder.problems.length === 0) return result;
  const dottedPath = (path: string): string => path.replaceAll(/\[(\d+)\]/g, '.$1');
  const errors = decoder.problems.map(({ path, message }) => ({ field: dottedPath(path), message }));
  throw new Refused('validation_failed', { errors });
}

type JudgedSettings = Pick<SnapshotSettings, 'externalTableCatalogs'>;

/** Whether a write can change the verdict on a guarantee: by the nodes or groups that the write touches, or by an engine principal that joins everyone. */
export function isAffected(
  guarantee: Guarantee,
  { nodes, groups, mayJoinEveryone }: TouchedScope,
  settings: JudgedSettings,
): boolean {
  const principals = principalsIn(guarantee);
  if (mayJoinEveryone === true && principals.some(({ type }) => type === 'everyone' || type === 'engine')) return true;
  if (principals.some((each) => each.type === 'group' && groups.includes(each.id))) return true;
  return nodes.some(makeTouchTest(judgementInput([guarantee], settings).nodes));
}

/** The nodes and principals that a snapshot must contain so that these guarantees can be judged on it. */
export function judgementInput(
  guarantees: readonly Guarantee[],
  settings: JudgedSettings,
): Required<Pick<TouchedScope, 'nodes' | 'groups' | 'principals'>> {
  const nodes = guarantees.flatMap(({ scopes }) => scopes.flatMap((scope) => judgedNodes(scope, settings)));
  return { nodes, groups: [], principals: guarantees.flatMap(principalsIn) };
}

/** Whether a verdict refuses a write or a version: the guarantee is enforced, and the verdict has witnesses. */
export function refusesWrite(verdict: GuaranteeVerdict): boolean {
  return canRefuse(verdict) && verdict.witnesses.length > 0;
}

/** @throws Refused `guarantee_broken` if a verdict refuses the write */
export function refuseBrokenGuarantees(verdicts: readonly GuaranteeVerdict[]): void {
  const errors = verdicts.filter(refusesWrite).map((verdict) => {
    const { id, name, witnesses } = verdict;
    const [witness] = witnesses;
    return { field: '', message: brokenText(verdict), guarantee: { id, name }, ...(witness && { witness }) };
  });
  const [firstError] = errors;
  if (firstError === undefined) return;
  throw new Refused('guarantee_broken', { detail: `Refused: ${firstError.message}. Nothing was written.`, errors });
}
