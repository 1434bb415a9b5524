import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
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
import { Cursor, DecimalText, NOT_OURS, PageLimit } from '../platform/http/page.dto.js';
import { FieldRule, TextRule, WITHOUT_NUL } from '../platform/http/validation.js';
import type { ChangedAccess } from '../trino-rules/diff/access-change.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { BrokenGuaranteeResponse, GUARANTEE_STATES } from './guarantee-states.dto.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import { type HistoryPosition, positionOfCursor } from './domain/publication-history.js';
import {
  type PastRun,
  type Publication,
  type PublicationSummary,
  type RunOutcome,
  type Trigger,
  TRIGGERS,
} from './domain/publication.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem, RESTORE_ENDS, type RestoreEnd } from './domain/restore.js';

export class ApprovalDto {
  @ApiProperty({
    description: 'Of the text that waits, as refusal, preview and status show it.',
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
    description: 'How long the restore is in effect.',
  })
  @FieldRule(hoursProblem)
  hours: number = LONGEST_RESTORE_HOURS;
}

const RUNS = ['all'] as const;

export class PublicationQuery extends PageLimit {
  @ApiPropertyOptional({ enum: RUNS, description: 'Refused and failed runs among the versions.' })
  @IsOptional()
  @IsIn(RUNS, { message: 'must be all' })
  runs?: (typeof RUNS)[number];

  @Cursor(positionOfCursor)
  @FieldRule((place) => (typeof place === 'string' ? NOT_OURS : null))
  after: HistoryPosition | null = null;
}

export class ComparisonQuery {
  @ApiPropertyOptional({ ...INTEGER, minimum: 1, maximum: 2 ** 31 - 1, description: 'The version to compare with.' })
  @DecimalText()
  @IsOptional()
  @IsInt({ message: 'must be a version' })
  @Min(1, { message: 'must be a version' })
  @Max(2 ** 31 - 1, { message: 'must be a version' })
  against?: number;
}

class FindingResponse implements Finding {
  @ApiProperty({ description: 'Stable, in kebab-case.' }) code!: string;
  @ApiProperty({ enum: ['error', 'warning', 'info'] }) severity!: 'error' | 'warning' | 'info';
  @ApiProperty() message!: string;
  @ApiPropertyOptional({ description: 'Where in the rules: `tables[12]`.' }) rule?: string;
  @ApiPropertyOptional() witness?: string;
  @ApiPropertyOptional(INTEGER) line?: number;
  @ApiPropertyOptional(INTEGER) column?: number;
}

const NULLABLE_INTEGER = { ...INTEGER, nullable: true };
const PEOPLE_GAINING = {
  ...NULLABLE_INTEGER,
  description:
    'People who gain anything, by name; all whom no rule names count as one of each kind. Accounts that act as others are not counted for acting as these. Null: not compared.',
};
const PEOPLE_LOSING = { ...NULLABLE_INTEGER, description: 'The same, who lose anything.' };

class RulesDiffResponse {
  @ApiField(TEXTS, 'Rules, each after the name of its section.') added!: string[];
  @ApiProperty(TEXTS) removed!: string[];
}

class ChangedAccessResponse implements ChangedAccess {
  @ApiProperty({ example: 'SELECT from sales.eu.orders', description: 'A restriction that is gone, or new: `not: …`.' })
  what!: string;

  @ApiField(TEXTS, 'The first of them, by name.') people!: string[];
  @ApiField(INTEGER, 'How many more.') others!: number;
}

class AccessChangeResponse implements AccessForm {
  @ApiField([ChangedAccessResponse], 'The first hundred.') gained!: ChangedAccess[];
  @ApiProperty(INTEGER) gained_in_all!: number;
  @ApiField([ChangedAccessResponse], 'The first hundred.') lost!: ChangedAccess[];
  @ApiProperty(INTEGER) lost_in_all!: number;
  @ApiProperty(PEOPLE_GAINING) people_gaining!: number | null;
  @ApiProperty(PEOPLE_LOSING) people_losing!: number | null;

  @ApiProperty({ type: 'integer', description: 'Pairs of a principal and a node for which anything changes.' })
  changed_pairs!: number;

  @ApiField(INTEGER, 'Pairs that have anything before or after.') all_pairs!: number;
}

class RestoredResponse {
  @ApiField(INTEGER, 'The older version.') version!: number;
  @ApiProperty(MOMENT) until!: string;
  @ApiProperty() reason!: string;

  @ApiProperty({ type: String, enum: RESTORE_ENDS, nullable: true, description: 'Why it ended; null: it has not.' })
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
  @ApiProperty({ ...MOMENT, description: 'Later changes are in the next version.' }) snapshot_at!: string;

  @ApiProperty({ description: 'Only what recorded changes took away was published, because the run was refused.' })
  is_withdrawal!: boolean;

  @ApiProperty({ description: 'Found at the target: published from a newer state of the database, or by another one.' })
  is_found!: boolean;

  @ApiNullable(RestoredResponse, 'The older version whose text this is, restored by an administrator.')
  restored!: RestoredResponse | null;

  @ApiField(
    NULLABLE_INTEGER,
    'Things that somebody gained against the version before; null, as the others: there was none to compare with.',
  )
  gained_in_all!: number | null;

  @ApiProperty(NULLABLE_INTEGER) lost_in_all!: number | null;
  @ApiProperty(PEOPLE_GAINING) people_gaining!: number | null;
  @ApiProperty(PEOPLE_LOSING) people_losing!: number | null;

  @ApiField(NULLABLE_INTEGER, 'Pairs of a principal and a node for which anything changed.')
  changed_pairs!: number | null;

  @ApiProperty({ type: [FindingResponse] }) checks!: Finding[];
  @ApiField(MOMENT, 'As `published_at`; runs that published none have it, too.') at!: string;
  @ApiProperty(MOMENT) published_at!: string;
  @ApiField(NULLABLE_MOMENT, 'When the engine was first seen to use it.') live_at!: string | null;

  @ApiField(
    NULLABLE_MOMENT,
    'When the engine was seen to fail on it, without ever having used it. It is not published again.',
  )
  broken_at!: string | null;
}

export class PublicationResponse extends PublicationSummaryResponse {
  @ApiProperty({ description: 'rules.json' }) text!: string;
  @ApiField(RulesDiffResponse, 'Against the text that was live before.') diff!: RulesDiffResponse;

  @ApiNullable(
    AccessChangeResponse,
    'Access gained and lost against the version before; null: none, or it was the first.',
  )
  access!: AccessChangeResponse | null;
}

/** A run that published no version of the current grants. */
class PastRunResponse {
  @ApiProperty({ enum: ['refused', 'failed'] }) outcome!: PastRun['outcome'];
  @ApiField(INTEGER, 'Of the run.') id!: number;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
  @ApiNullable(ReferenceResponse) triggered_by!: ReferenceResponse | null;
  @ApiField([FindingResponse], 'Why; a counterexample is among them.') reasons!: Finding[];
}

@ApiExtraModels(PublicationSummaryResponse, PastRunResponse)
export class PublicationPageResponse {
  @ApiProperty({
    type: 'array',
    description:
      'Versions, and among them the first of each row of equally refused or failed runs where these were asked for.',
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

  @ApiField(NULLABLE_TEXT, 'Refused until an approval: the hash of the text to approve.') awaits!: string | null;

  @ApiField(
    [FindingResponse],
    'Why the run was refused, or why what is published is not what the current grants say: a restore is in effect.',
  )
  reasons!: Finding[];
}

class PreviewDiffResponse {
  @ApiProperty({ type: RulesDiffResponse }) rules!: RulesDiffResponse;

  @ApiNullable(
    AccessChangeResponse,
    'Access gained and lost against the last published version; null: none, or nothing was published.',
  )
  access!: AccessChangeResponse | null;
}

export class PreviewResponse {
  @ApiProperty({ enum: ['publish', 'no_change', 'refused'] }) would!: 'publish' | 'no_change' | 'refused';
  @ApiProperty() hash!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ description: 'Against what is live.' }) diff!: PreviewDiffResponse;
  @ApiProperty({ type: [FindingResponse] }) checks!: Finding[];
  @ApiProperty({ description: 'Whether the live rules were edited by hand.' }) drift!: boolean;

  @ApiField(NULLABLE_TEXT, 'Would be refused until an approval: the hash of the text to approve.')
  awaits!: string | null;

  @ApiProperty(GUARANTEE_STATES)
  guarantees!: GuaranteeVerdictForm[];
}

class WaitingResponse {
  @ApiProperty({ description: 'Hash of the text to approve.' }) hash!: string;
  @ApiProperty(MOMENT) since!: string;
  @ApiProperty({ type: [FindingResponse] }) reasons!: Finding[];
}

class PublishedResponse {
  @ApiProperty(INTEGER) version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
}

class LiveResponse {
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) confirmed_at!: string;
}

class DriftResponse {
  @ApiProperty(MOMENT) found_at!: string;
  @ApiField(NULLABLE_TEXT, 'Hash of the edited text; null: there was none.') text_hash!: string | null;
  @ApiProperty() overwritten!: boolean;
}

class DatabaseBehindResponse {
  @ApiField(INTEGER, 'To read and compare under `GET /api/admin/acl/publications/:version`.') version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) found_at!: string;
}

export class StatusResponse {
  @ApiProperty(NULLABLE_MOMENT) last_run_at!: string | null;
  @ApiProperty(NULLABLE_MOMENT) last_success_at!: string | null;

  @ApiProperty({ enum: ['applied', 'no_change', 'refused', 'failed'], nullable: true })
  last_outcome!: RunOutcome['kind'] | null;

  @ApiField([FindingResponse], 'Why the last run was refused or failed.') last_reasons!: Finding[];
  @ApiField(NULLABLE_MOMENT, 'Null: this process runs no schedule.') next_run_at!: string | null;
  @ApiNullable(PublishedResponse) published!: PublishedResponse | null;
  @ApiNullable(LiveResponse, 'What the engine was seen to use.') live!: LiveResponse | null;
  @ApiNullable(DriftResponse, 'An edit of the live rules by hand.') drift!: DriftResponse | null;

  @ApiField(NULLABLE_MOMENT, 'Until when an older version stays restored; null: none is.')
  restored_until!: string | null;

  @ApiNullable(
    WaitingResponse,
    'An unexplained change; until it is approved, only what recorded changes take away is published.',
  )
  waiting_for_approval!: WaitingResponse | null;

  @ApiField(NULLABLE_MOMENT, 'Since when every run was refused, so that revoked access stays open.')
  refused_since!: string | null;

  @ApiNullable(
    DatabaseBehindResponse,
    'The version in force that this database does not have: it was restored from a backup, or another installation publishes to the target.',
  )
  database_behind!: DatabaseBehindResponse | null;

  @ApiField(
    [FindingResponse],
    'A warning for each catalog of the engine whose connector leads around restrictions and that no setting lists, as it was last seen; `witness`: the lines of its file that close it.',
  )
  open_catalogs!: Finding[];

  @ApiProperty({ type: [BrokenGuaranteeResponse] }) broken_guarantees!: BrokenGuaranteeResponse[];
  @ApiProperty() target!: string;
}
