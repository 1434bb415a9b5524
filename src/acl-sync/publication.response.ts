import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import {
  INTEGER,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  TEXTS,
  ReferenceResponse,
} from '../platform/http/api-fields.js';
import type { ChangedAccess } from '../trino-rules/diff/access-ledger.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import {
  type PastRun,
  type Publication,
  type PublicationSummary,
  type Trigger,
  TRIGGERS,
} from './domain/publication.js';
import { RESTORE_ENDS, type RestoreEnd } from './domain/restore.js';

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
const PEOPLE_GAINING = {
  ...NULLABLE_INTEGER,
  description:
    'People who gain anything, by name; all whom no rule names count as one of each kind. Null: not compared.',
};
const PEOPLE_LOSING = { ...NULLABLE_INTEGER, description: 'The same, who lose anything.' };

export class RulesDiffResponse {
  @ApiProperty({ ...TEXTS, description: 'Rules, each after the name of its section.' }) added!: string[];
  @ApiProperty(TEXTS) removed!: string[];
}

export class ChangedAccessResponse implements ChangedAccess {
  @ApiProperty({ example: 'SELECT from sales.eu.orders', description: 'A restriction that is gone, or new: `not: …`.' })
  what!: string;

  @ApiProperty({ ...TEXTS, description: 'The first of them, by name.' }) people!: string[];
  @ApiProperty({ ...INTEGER, description: 'How many more.' }) others!: number;
}

export class AccessChangeResponse implements AccessForm {
  @ApiProperty({ type: [ChangedAccessResponse], description: 'The first hundred.' }) gained!: ChangedAccess[];
  @ApiProperty(INTEGER) gained_in_all!: number;
  @ApiProperty({ type: [ChangedAccessResponse], description: 'The first hundred.' }) lost!: ChangedAccess[];
  @ApiProperty(INTEGER) lost_in_all!: number;
  @ApiProperty(PEOPLE_GAINING) people_gaining!: number | null;
  @ApiProperty(PEOPLE_LOSING) people_losing!: number | null;

  @ApiProperty({ type: 'integer', description: 'Pairs of a principal and a node for which anything changes.' })
  changed_pairs!: number;

  @ApiProperty({ ...INTEGER, description: 'Pairs that have anything before or after.' }) all_pairs!: number;
}

export class RestoredResponse {
  @ApiProperty({ ...INTEGER, description: 'The older version.' }) version!: number;
  @ApiProperty(MOMENT) until!: string;
  @ApiProperty() reason!: string;

  @ApiProperty({ type: String, enum: RESTORE_ENDS, nullable: true, description: 'Why it ended; null: it has not.' })
  ended!: RestoreEnd | null;
}

export class PublicationSummaryResponse {
  @ApiProperty({ enum: ['applied'] }) outcome!: 'applied';
  @ApiProperty(INTEGER) version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;

  @ApiProperty({ type: ReferenceResponse, nullable: true, description: 'The account that requested it.' })
  triggered_by!: ReferenceResponse | null;

  @ApiProperty() snapshot_hash!: string;

  @ApiProperty({ description: 'Only what recorded changes took away was published, because the run was refused.' })
  is_withdrawal!: boolean;

  @ApiProperty({ description: 'Found at the target: published from a newer state of the database, or by another one.' })
  is_found!: boolean;

  @ApiProperty({
    type: RestoredResponse,
    nullable: true,
    description: 'The older version whose text this is, restored by an administrator.',
  })
  restored!: RestoredResponse | null;

  @ApiProperty({
    ...NULLABLE_INTEGER,
    description:
      'Things that somebody gained against the version before; null, as the others: there was none to compare with.',
  })
  gained_in_all!: number | null;

  @ApiProperty(NULLABLE_INTEGER) lost_in_all!: number | null;
  @ApiProperty(PEOPLE_GAINING) people_gaining!: number | null;
  @ApiProperty(PEOPLE_LOSING) people_losing!: number | null;

  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Pairs of a principal and a node for which anything changed.' })
  changed_pairs!: number | null;

  @ApiProperty({ type: [FindingResponse] }) checks!: Finding[];
  @ApiProperty({ ...MOMENT, description: 'As `published_at`; runs that published none have it, too.' }) at!: string;
  @ApiProperty(MOMENT) published_at!: string;

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'When the engine was first seen to use it.' })
  live_at!: string | null;

  @ApiProperty({
    ...NULLABLE_MOMENT,
    description: 'When the engine was seen to fail on it, without ever having used it. It is not published again.',
  })
  broken_at!: string | null;
}

export class PublicationResponse extends PublicationSummaryResponse {
  @ApiProperty({ description: 'rules.json' }) text!: string;
  @ApiProperty({ type: RulesDiffResponse, description: 'Against the text that was live before.' })
  diff!: RulesDiffResponse;

  @ApiProperty({
    type: AccessChangeResponse,
    nullable: true,
    description: 'Access gained and lost against the version before; null: none, or it was the first.',
  })
  access!: AccessChangeResponse | null;
}

/** A run that published no version of the current grants. */
export class PastRunResponse {
  @ApiProperty({ enum: ['refused', 'failed'] }) outcome!: PastRun['outcome'];
  @ApiProperty({ ...INTEGER, description: 'Of the run.' }) id!: number;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
  @ApiProperty({ type: ReferenceResponse, nullable: true }) triggered_by!: ReferenceResponse | null;
  @ApiProperty({ type: [FindingResponse], description: 'Why; a counterexample is among them.' }) reasons!: Finding[];
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
  const { restored, access } = publication;
  return {
    outcome: 'applied',
    version: publication.version,
    hash: publication.hash,
    rules: publication.rules,
    bytes: publication.bytes,
    trigger: publication.trigger,
    triggered_by: publication.triggeredBy,
    snapshot_hash: publication.snapshotHash,
    is_withdrawal: publication.isWithdrawal,
    is_found: publication.isFound,
    restored: restored && { ...restored, until: restored.until.toISOString() },
    gained_in_all: access?.gainedInAll ?? null,
    lost_in_all: access?.lostInAll ?? null,
    people_gaining: access?.peopleGaining ?? null,
    people_losing: access?.peopleLosing ?? null,
    changed_pairs: access?.changedPairs ?? null,
    checks: publication.checks,
    at: publication.publishedAt.toISOString(),
    published_at: publication.publishedAt.toISOString(),
    live_at: publication.liveAt?.toISOString() ?? null,
    broken_at: publication.brokenAt?.toISOString() ?? null,
  };
}

export function toPublicationResponse(publication: Publication): PublicationResponse {
  const { text, diff, access } = publication;
  return Object.assign(toSummaryResponse(publication), { text, diff, access: access && accessForm(access, Infinity) });
}
