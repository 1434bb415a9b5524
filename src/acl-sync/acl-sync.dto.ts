import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { IsIn, IsOptional, Matches } from 'class-validator';
import {
  ApiField,
  ApiNullable,
  INTEGER,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  ReferenceResponse,
  TEXTS,
} from '../platform/http/api-fields.js';
import { Cursor, DecimalText, INVALID_CURSOR, PageLimit } from '../platform/http/page.dto.js';
import { FieldRule, TextRule, WITHOUT_NUL } from '../platform/http/validation.js';
import type { ChangedAccess } from '../trino-rules/diff/access-change.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import { type HistoryPosition, positionOfCursor } from './domain/publication-history.js';
import {
  type PastRun,
  type Publication,
  type PublicationSummary,
  type Trigger,
  TRIGGERS,
} from './domain/publication.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem, RESTORE_ENDS, type RestoreEnd } from './domain/restore.js';

export class ApprovalDto {
  @ApiProperty({
    description:
      'Hash of the change that waits for approval, as the refusal, the preview and the status show it: SHA-256 of the text or, with OPA as a target, of the snapshot.',
    pattern: '^[0-9a-f]{64}$',
    example: 'a'.repeat(64),
  })
  @Matches(/^[0-9a-f]{64}$/, { message: 'must be 64 hexadecimal digits' })
  hash!: string;
}

export class RestoreDto {
  @ApiProperty({
    minLength: 1,
    maxLength: 1000,
    pattern: WITHOUT_NUL,
    description: 'Shown in the status, the log and the audit trail.',
  })
  @TextRule(reasonProblem)
  reason!: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: LONGEST_RESTORE_HOURS,
    default: LONGEST_RESTORE_HOURS,
    description: 'Hours for which the restore is in effect.',
  })
  @FieldRule(hoursProblem)
  hours: number = LONGEST_RESTORE_HOURS;
}

const RUN_FILTERS = ['all'] as const;

export class PublicationQuery extends PageLimit {
  @ApiPropertyOptional({ enum: RUN_FILTERS, description: '`all`: list also refused and failed runs.' })
  @IsOptional()
  @IsIn(RUN_FILTERS, { message: 'must be all' })
  runs?: (typeof RUN_FILTERS)[number];

  @Cursor(positionOfCursor)
  @FieldRule((position) => (typeof position === 'string' ? INVALID_CURSOR : null))
  after: HistoryPosition | null = null;
}

export class ComparisonQuery {
  @ApiPropertyOptional({ ...INTEGER, minimum: 1, maximum: 2 ** 31 - 1, description: 'The version to compare with.' })
  @DecimalText()
  @IsOptional()
  @FieldRule((version) => (Number(version) >= 1 && Number(version) < 2 ** 31 ? null : 'must be a version'))
  against?: number;
}

export class FindingResponse implements Finding {
  @ApiProperty({ description: 'Stable, in kebab-case.' }) code!: string;
  @ApiProperty({ enum: ['error', 'warning', 'info'] }) severity!: 'error' | 'warning' | 'info';
  @ApiProperty() message!: string;
  @ApiPropertyOptional({ description: 'Where in the rules: `tables[12]`.' }) rule?: string;
  @ApiPropertyOptional() witness?: string;
  @ApiPropertyOptional(INTEGER) line?: number;
  @ApiPropertyOptional(INTEGER) column?: number;
}

const NULLABLE_INTEGER = { ...INTEGER, nullable: true };
const GAINING_PEOPLE_FIELD = {
  ...NULLABLE_INTEGER,
  description:
    'Number of people who gain access. People whom no rule names count as one of each kind. Access through acting as others is not counted. Null: not compared.',
};
const LOSING_PEOPLE_FIELD = { ...NULLABLE_INTEGER, description: 'Number of people who lose access, counted alike.' };

class RulesDiffResponse {
  @ApiField(TEXTS, 'Rules, each after the name of its section.') added!: string[];
  @ApiProperty(TEXTS) removed!: string[];
}

class ChangedAccessResponse implements ChangedAccess {
  @ApiProperty({ example: 'SELECT from sales.eu.orders', description: 'A restriction begins with `not: `.' })
  what!: string;

  @ApiField(TEXTS, 'Names of the first people.') people!: string[];
  @ApiField(INTEGER, 'Number of further people.') others!: number;
}

class AccessChangeResponse implements AccessForm {
  @ApiField([ChangedAccessResponse], 'The first hundred gains.') gained!: ChangedAccess[];
  @ApiProperty(INTEGER) gained_in_all!: number;
  @ApiField([ChangedAccessResponse], 'The first hundred losses.') lost!: ChangedAccess[];
  @ApiProperty(INTEGER) lost_in_all!: number;
  @ApiProperty(GAINING_PEOPLE_FIELD) people_gaining!: number | null;
  @ApiProperty(LOSING_PEOPLE_FIELD) people_losing!: number | null;

  @ApiProperty({ type: 'integer', description: 'Pairs of a principal and a node for which anything changes.' })
  changed_pairs!: number;

  @ApiField(INTEGER, 'Pairs that have any access before or after.') all_pairs!: number;
}

class RestoredResponse {
  @ApiField(INTEGER, 'The older version that was restored.') version!: number;
  @ApiProperty(MOMENT) until!: string;
  @ApiProperty() reason!: string;

  @ApiProperty({ type: String, enum: RESTORE_ENDS, nullable: true, description: 'Why it ended. Null: it goes on.' })
  ended!: RestoreEnd | null;
}

class PublicationSummaryResponse {
  @ApiProperty({ enum: ['applied'] }) outcome!: 'applied';
  @ApiProperty(INTEGER) version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
  @ApiNullable(ReferenceResponse, 'The account that requested it.') triggered_by!: ReferenceResponse | null;
  @ApiProperty() snapshot_hash!: string;
  @ApiProperty({ ...MOMENT, description: 'It has no later changes of grants.' }) snapshot_at!: string;

  @ApiProperty({ description: 'Whether the run was refused, and published only what recorded changes take away.' })
  is_withdrawal!: boolean;

  @ApiProperty({ description: 'Whether the target had this version from a newer or another database.' })
  is_found!: boolean;

  @ApiNullable(RestoredResponse, 'The older version whose text this is, restored by an administrator.')
  restored!: RestoredResponse | null;

  @ApiField(
    NULLABLE_INTEGER,
    'Number of gains compared with the previous version. Null, like the next counts: there was none to compare with.',
  )
  gained_in_all!: number | null;

  @ApiProperty(NULLABLE_INTEGER) lost_in_all!: number | null;
  @ApiProperty(GAINING_PEOPLE_FIELD) people_gaining!: number | null;
  @ApiProperty(LOSING_PEOPLE_FIELD) people_losing!: number | null;

  @ApiField(NULLABLE_INTEGER, 'Pairs of a principal and a node for which anything changed.')
  changed_pairs!: number | null;

  @ApiProperty({ type: [FindingResponse] }) checks!: Finding[];
  @ApiField(MOMENT, 'Equals `published_at`. Entries of runs have `at` alone.') at!: string;
  @ApiProperty(MOMENT) published_at!: string;
  @ApiField(NULLABLE_MOMENT, 'When the engine was first seen to use this version.') live_at!: string | null;

  @ApiField(
    NULLABLE_MOMENT,
    'When the engine was seen to fail on this version, without ever having used it. It is not published again.',
  )
  broken_at!: string | null;
}

export class PublicationResponse extends PublicationSummaryResponse {
  @ApiField(NULLABLE_TEXT, '`rules.json`; null: OPA was the only target.') text!: string | null;
  @ApiField(RulesDiffResponse, 'Compared with the text that was live before.') diff!: RulesDiffResponse;

  @ApiNullable(
    AccessChangeResponse,
    'Access gained and lost compared with the previous version. Null: no change, or the first version.',
  )
  access!: AccessChangeResponse | null;
}

/** A run that was refused or failed, and therefore published no version of the current grants. */
class PastRunResponse {
  @ApiProperty({ enum: ['refused', 'failed'] }) outcome!: PastRun['outcome'];
  @ApiField(INTEGER, 'Id of the run.') id!: number;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
  @ApiNullable(ReferenceResponse) triggered_by!: ReferenceResponse | null;
  @ApiField([FindingResponse], 'Why it was refused or failed, with a counterexample.') reasons!: Finding[];
}

@ApiExtraModels(PublicationSummaryResponse, PastRunResponse)
export class PublicationPageResponse {
  @ApiProperty({
    type: 'array',
    description:
      'Published versions. With `runs=all` also refused and failed runs; of consecutive equal runs only the first.',
    items: { oneOf: [{ $ref: getSchemaPath(PublicationSummaryResponse) }, { $ref: getSchemaPath(PastRunResponse) }] },
  })
  items!: (PublicationSummaryResponse | PastRunResponse)[];

  @ApiProperty(NULLABLE_TEXT) next!: string | null;
}

export function toEntryResponse(entry: PublicationSummary | PastRun): PublicationSummaryResponse | PastRunResponse {
  if ('version' in entry) return toSummaryResponse(entry);
  const { id, outcome, at, trigger, triggeredBy: triggered_by, reasons } = entry;
  return { outcome, id, at: at.toISOString(), trigger, triggered_by, reasons };
}

export function toSummaryResponse(publication: PublicationSummary): PublicationSummaryResponse {
  const { version, hash, rules, bytes, trigger, restored, access, checks, publishedAt } = publication;
  const at = publishedAt.toISOString();
  return {
    ...{ outcome: 'applied', version, hash, rules, bytes, trigger, triggered_by: publication.triggeredBy },
    snapshot_hash: publication.snapshotHash,
    snapshot_at: publication.snapshotAt.toISOString(),
    is_withdrawal: publication.isWithdrawal,
    is_found: publication.isFound,
    restored: restored && { ...restored, until: restored.until.toISOString() },
    gained_in_all: access?.gainedInAll ?? null,
    lost_in_all: access?.lostInAll ?? null,
    people_gaining: access?.peopleGaining ?? null,
    people_losing: access?.peopleLosing ?? null,
    changed_pairs: access?.changedPairs ?? null,
    ...{ checks, at, published_at: at },
    live_at: publication.liveAt?.toISOString() ?? null,
    broken_at: publication.brokenAt?.toISOString() ?? null,
  };
}

export function toPublicationResponse(publication: Publication): PublicationResponse {
  const { text, diff, access } = publication;
  return Object.assign(toSummaryResponse(publication), { text, diff, access: access && accessForm(access, Infinity) });
}

export class SyncResponse {
  @ApiProperty({ enum: ['applied', 'no_change', 'refused'] }) outcome!: 'applied' | 'no_change' | 'refused';

  @ApiNullable(
    PublicationSummaryResponse,
    'The published version. Refused: the withdrawal that this run published; null: none.',
  )
  publication!: PublicationSummaryResponse | null;

  @ApiField(NULLABLE_TEXT, 'Hash of the change to approve, if an approval would help.') awaits!: string | null;

  @ApiField(
    [FindingResponse],
    'Why the run was refused; or, during a restore, why the published rules differ from the current grants.',
  )
  reasons!: Finding[];
}

const GUARANTEE_STATES = {
  type: 'array',
  items: { $ref: '#/components/schemas/DraftGuaranteeResponse' },
  description: 'Guarantees that the next version would break or mend.',
} as const;

class PreviewDiffResponse {
  @ApiProperty({ type: RulesDiffResponse }) rules!: RulesDiffResponse;

  @ApiNullable(
    AccessChangeResponse,
    'Access gained and lost compared with the last published version. Null: no change, or nothing was published.',
  )
  access!: AccessChangeResponse | null;
}

export class PreviewResponse {
  @ApiProperty({ enum: ['publish', 'no_change', 'refused'] }) would!: 'publish' | 'no_change' | 'refused';
  @ApiProperty() hash!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ description: 'Compared with the live rules.' }) diff!: PreviewDiffResponse;
  @ApiProperty({ type: [FindingResponse] }) checks!: Finding[];
  @ApiProperty({ description: 'Whether the live rules were edited by hand.' }) drift!: boolean;

  @ApiField(NULLABLE_TEXT, 'Hash of the change to approve, if the run would wait for an approval.')
  awaits!: string | null;

  @ApiProperty(GUARANTEE_STATES)
  guarantees!: GuaranteeVerdictForm[];
}
