import { versionTag } from '../../kernel/entity-tag.js';
import { Refused } from '../../kernel/errors.js';
import { brokenText, type GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import { type Guarantee, isNear, isRefusing, judgedNodes, principalsIn } from '../../trino-rules/model/guarantee.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { join, SnapshotDecoder } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotNames, SnapshotRows } from '../../trino-rules/model/snapshot-rows.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { descriptionProblem } from './grant.js';
import type { Touched } from './snapshot-store.js';

export const GUARANTEES_MOST = 500;

/** A change that can affect every guarantee. */
export const TOUCHES_ALL: Touched = { nodes: [{}, { catalog: SYSTEM }, { engine: true }], groups: [] };

export interface RecordedGuarantee {
  guarantee: Guarantee;
  description: string | null;
  writtenBy: { id: number; name: string } | null;
  createdAt: Date;
  changedAt: Date;
  judgedAt: Date | null;
  /** Null: it held when it was judged last. */
  brokenSince: Date | null;
  /** The last one; null: not judged yet. */
  judgement: Pick<GuaranteeVerdict, 'brokenBy' | 'witnesses' | 'checked'> | null;
  /** Names of its users and groups, by `principalText`; null: it has none, or they were not asked for. */
  names: Readonly<Record<string, string>> | null;
}

/** The entity tag of a guarantee. Every change of it gives another one; a verdict or a new name of a principal does not. */
export function guaranteeVersion({ guarantee, description, changedAt }: RecordedGuarantee): string {
  return versionTag([guarantee, description, changedAt]);
}

type Draft = Pick<RecordedGuarantee, 'guarantee' | 'description'>;

/** Reads a body that is a guarantee. @throws Refused `validation_failed` with all errors */
export function readGuarantee(body: object, snapshot: Snapshot): Draft {
  return reading(snapshot, (_, read) => read(body, ''));
}

/** Reads the guarantees of a body, with negative ids; null: it has none. @throws Refused `validation_failed` with all errors */
export function readGuarantees(body: object, snapshot: Snapshot): Draft[] | null {
  return reading(snapshot, (form, read) => {
    const { guarantees } = form.object(body, '', ['guarantees']);
    if (Array.isArray(guarantees) && guarantees.length > GUARANTEES_MOST)
      form.addProblem('guarantees', `must have at most ${GUARANTEES_MOST} entries`);
    let id = 0;
    return guarantees === undefined ? null : form.list(guarantees, 'guarantees', (each, at) => read(each, at, --id));
  });
}

function reading<T>(
  { users, groups, settings }: Snapshot,
  work: (form: SnapshotDecoder, read: (value: unknown, path: string, id?: number) => Draft) => T,
): T {
  const form = new SnapshotDecoder();
  const names = new SnapshotNames(form, users, groups, settings, undefined, 'that is recorded');
  const reader = new GuaranteeReader(form, names, new SnapshotRows(form, names, settings));
  const done = work(form, (value, path, id = 0) => {
    const guarantee = reader.guarantee(value, path, id);
    const { description = null } = (value ?? {}) as { description?: string | null };
    const problem = descriptionProblem(description);
    if (problem !== null && typeof description === 'string') form.addProblem(join(path, 'description'), problem);
    return { guarantee, description };
  });
  if (form.problems.length === 0) return done;
  const errors = form.problems.map(({ path, message }) => ({ field: path.replaceAll(/\[(\d+)\]/g, '.$1'), message }));
  throw new Refused('validation_failed', { errors });
}

/** Whether a write can break or mend a guarantee: it touches a node near its scopes, or one of its principals. */
export function isTouched(guarantee: Guarantee, { nodes, groups, mayJoinEveryone }: Touched): boolean {
  if (mayJoinEveryone === true && guarantee.principal.type === 'everyone') return true;
  if (principalsIn(guarantee).some((named) => named.type === 'group' && groups.includes(named.id))) return true;
  return guarantee.scopes.some((scope) => nodes.some((node) => isNear(scope, node)));
}

/** What a snapshot must hold for guarantees to be judged by it. */
export function judgedPart(
  guarantees: readonly Guarantee[],
  settings: Pick<SnapshotSettings, 'externalTableCatalogs'>,
): Required<Pick<Touched, 'nodes' | 'groups' | 'named'>> {
  const nodes = guarantees.flatMap(({ scopes }) => scopes.flatMap((scope) => judgedNodes(scope, settings)));
  return { nodes, groups: [], named: guarantees.flatMap(principalsIn) };
}

/** Whether it refuses a write or a version: where a former state is known, by a witness that this one did not have. */
export function isBreaking(verdict: GuaranteeVerdict): boolean {
  return isRefusing(verdict) && verdict.witnesses.length > 0;
}

/** @throws Refused `guarantee_broken` for an enforced guarantee that is broken */
export function refuseBroken(verdicts: readonly GuaranteeVerdict[]): void {
  const broken = verdicts.filter(isBreaking);
  if (broken.length > 0) throw guaranteeBroken(broken);
}

/** @param broken with the witnesses that a write adds */
function guaranteeBroken(broken: readonly GuaranteeVerdict[]): Refused {
  const errors = broken.map((verdict) => {
    const { id, name, witnesses } = verdict;
    const [witness] = witnesses;
    return { field: '', message: brokenText(verdict), guarantee: { id, name }, ...(witness && { witness }) };
  });
  return new Refused('guarantee_broken', {
    detail: `Refused: ${errors[0]?.message ?? ''}. Nothing was written.`,
    errors,
  });
}
