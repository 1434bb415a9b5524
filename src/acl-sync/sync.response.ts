import { ApiProperty } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { INTEGER, MOMENT, NULLABLE_MOMENT, NULLABLE_TEXT } from '../platform/http/api-fields.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { type RunOutcome, type RunFailure, type Trigger, TRIGGERS } from './domain/publication.js';
import {
  AccessChangeResponse,
  FindingResponse,
  PublicationSummaryResponse,
  RulesDiffResponse,
  toSummaryResponse,
} from './publication.response.js';

export class SyncResponse {
  @ApiProperty({ enum: ['applied', 'no_change', 'refused'] }) outcome!: 'applied' | 'no_change' | 'refused';

  @ApiProperty({
    type: PublicationSummaryResponse,
    nullable: true,
    description: 'The published version. Refused: the withdrawal that this run published; null: none.',
  })
  publication!: PublicationSummaryResponse | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Refused until an approval: the hash of the text to approve.' })
  awaits!: string | null;

  @ApiProperty({
    type: [FindingResponse],
    description:
      'Why the run was refused, or why what is published is not what the current grants say: a restore is in effect.',
  })
  reasons!: Finding[];
}

export class PreviewDiffResponse {
  @ApiProperty({ type: RulesDiffResponse }) rules!: RulesDiffResponse;

  @ApiProperty({
    type: AccessChangeResponse,
    nullable: true,
    description: 'Access gained and lost against the last published version; null: none, or nothing was published.',
  })
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

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Would be refused until an approval: the hash of the text to approve.',
  })
  awaits!: string | null;
}

export class WaitingResponse {
  @ApiProperty({ description: 'Hash of the text to approve.' }) hash!: string;
  @ApiProperty(MOMENT) since!: string;
  @ApiProperty({ type: [FindingResponse] }) reasons!: Finding[];
}

export class PublishedResponse {
  @ApiProperty(INTEGER) version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty(INTEGER) rules!: number;
  @ApiProperty(INTEGER) bytes!: number;
  @ApiProperty({ enum: TRIGGERS }) trigger!: Trigger;
}

export class LiveResponse {
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) confirmed_at!: string;
}

export class DriftResponse {
  @ApiProperty(MOMENT) found_at!: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Hash of the edited text; null: there was none.' })
  text_hash!: string | null;

  @ApiProperty() overwritten!: boolean;
}

export class DatabaseBehindResponse {
  @ApiProperty({ ...INTEGER, description: 'To read and compare under `GET /api/admin/acl/publications/:version`.' })
  version!: number;

  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) found_at!: string;
}

export class StatusResponse {
  @ApiProperty(NULLABLE_MOMENT) last_run_at!: string | null;
  @ApiProperty(NULLABLE_MOMENT) last_success_at!: string | null;

  @ApiProperty({ enum: ['applied', 'no_change', 'refused', 'failed'], nullable: true })
  last_outcome!: RunOutcome['kind'] | null;

  @ApiProperty({ type: [FindingResponse], description: 'Why the last run was refused or failed.' })
  last_reasons!: Finding[];

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Null: this process runs no schedule.' }) next_run_at!: string | null;
  @ApiProperty({ type: PublishedResponse, nullable: true }) published!: PublishedResponse | null;

  @ApiProperty({ type: LiveResponse, nullable: true, description: 'What the engine was seen to use.' })
  live!: LiveResponse | null;

  @ApiProperty({ type: DriftResponse, nullable: true, description: 'An edit of the live rules by hand.' })
  drift!: DriftResponse | null;

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Until when an older version stays restored; null: none is.' })
  restored_until!: string | null;

  @ApiProperty({
    type: WaitingResponse,
    nullable: true,
    description: 'An unexplained change; until it is approved, only what recorded changes take away is published.',
  })
  waiting_for_approval!: WaitingResponse | null;

  @ApiProperty({
    ...NULLABLE_MOMENT,
    description: 'Since when every run was refused, so that revoked access stays open.',
  })
  refused_since!: string | null;

  @ApiProperty({
    type: DatabaseBehindResponse,
    nullable: true,
    description:
      'The version in force that this database does not have: it was restored from a backup, or another installation publishes to the target.',
  })
  database_behind!: DatabaseBehindResponse | null;

  @ApiProperty({
    type: [FindingResponse],
    description:
      'A warning for each catalog of the engine whose connector leads around restrictions and that no setting lists, as it was last seen; `witness`: the lines of its file that close it.',
  })
  open_catalogs!: Finding[];

  @ApiProperty() target!: string;
}

/** @throws Refused `target_unavailable`, `database_unavailable` or `internal_error` for a run that failed */
export function toSyncResponse(outcome: RunOutcome): SyncResponse {
  switch (outcome.kind) {
    case 'applied':
    case 'no_change':
    case 'refused': {
      const { kind, reasons, publication } = outcome;
      const awaits = kind === 'refused' ? outcome.awaits : null;
      return { outcome: kind, publication: publication && toSummaryResponse(publication), awaits, reasons };
    }
    case 'failed':
      throw refusalOf(outcome.failure);
  }
}

export function refusalOf({ reason, message, auditId, cause }: RunFailure): Refused {
  if (reason === 'internal') return new Refused('internal_error', { cause });
  if (reason === 'deadline' || reason === 'memory') return new Refused('internal_error', { detail: message, cause });
  if (reason === 'lease-lost') return new Refused('database_unavailable', { cause });
  return new Refused('target_unavailable', { detail: message, members: { reason, audit_id: auditId }, cause });
}
