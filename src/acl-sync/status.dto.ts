import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ApiField,
  ApiNullable,
  INTEGER,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  TEXTS,
} from '../platform/http/api-fields.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { FindingResponse } from './acl-sync.dto.js';
import { type RunOutcome, type Trigger, TRIGGERS } from './domain/publication.js';

class BrokenGuaranteeResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty(MOMENT) since!: string;
  @ApiProperty({ description: 'The first breach, and how to end it.' }) message!: string;
}

const TARGET_KINDS = ['configmap', 'file', 'opa'] as const;
const TARGET_OUTCOMES = ['available', 'failed'] as const;

class TargetResponse {
  @ApiProperty({ enum: TARGET_KINDS }) kind!: (typeof TARGET_KINDS)[number];
  @ApiProperty({ example: 'configmap:engine/trino-access-control' }) name!: string;
  @ApiField(NULLABLE_TEXT, 'The revision at the target, `v12-0123456789ab`: version and snapshot.') published!:
    | string
    | null;

  @ApiField(
    NULLABLE_TEXT,
    'The newest revision that its engine was seen to use; only the engine of `SERVICE_QUERY_HOST` is asked, which uses the first target. For `opa`: the revision by which the canary and all instances of the last five minutes decide. Null: they differ, or it is not known.',
  )
  live!: string | null;

  @ApiProperty({
    enum: TARGET_OUTCOMES,
    nullable: true,
    description: 'Whether the last run could use the target; for `opa`, by the reports of instances and the canary.',
  })
  outcome!: (typeof TARGET_OUTCOMES)[number] | null;

  @ApiProperty(NULLABLE_TEXT) error!: string | null;
}

class OpaInstanceResponse {
  @ApiProperty({ description: 'The label `instance` of this OPA, or else its id.' }) instance!: string;
  @ApiField(NULLABLE_TEXT, 'The revision of the bundle by which it decides.') revision!: string | null;
  @ApiProperty(MOMENT) last_seen_at!: string;
  @ApiField(TEXTS, 'Errors of the bundle in the last report; also that the bundle is older than `OPA_MAX_AGE_SECONDS`.')
  errors!: string[];
}

class CanaryResponse {
  @ApiField(NULLABLE_TEXT, 'The newest revision if all is well. Null: no answer.') answer!: string | null;
  @ApiProperty(MOMENT) at!: string;
}

class WaitingResponse {
  @ApiProperty({ description: 'Hash of the change to approve.' }) hash!: string;
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
  @ApiField(NULLABLE_TEXT, 'Hash of the edited text. Null: there was no text.') text_hash!: string | null;
  @ApiProperty() overwritten!: boolean;
}

class DatabaseBehindResponse {
  @ApiField(INTEGER, 'The version; `GET /api/admin/acl/publications/:version` shows it.') version!: number;
  @ApiProperty() hash!: string;
  @ApiProperty(MOMENT) found_at!: string;
}

export class StatusResponse {
  @ApiProperty(NULLABLE_MOMENT) last_run_at!: string | null;
  @ApiProperty(NULLABLE_MOMENT) last_success_at!: string | null;

  @ApiProperty({ enum: ['applied', 'no_change', 'refused', 'failed'], nullable: true })
  last_outcome!: RunOutcome['kind'] | null;

  @ApiField([FindingResponse], 'Why the last run was refused or failed.') last_reasons!: Finding[];
  @ApiField(NULLABLE_MOMENT, 'The next scheduled run. Null: no schedule.') next_run_at!: string | null;
  @ApiNullable(PublishedResponse) published!: PublishedResponse | null;
  @ApiNullable(LiveResponse, 'The version that the engine was last seen to use.') live!: LiveResponse | null;
  @ApiNullable(DriftResponse, 'An edit of the live rules by hand.') drift!: DriftResponse | null;

  @ApiField(NULLABLE_MOMENT, 'The end of the restore in effect. Null: no version is restored.')
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
    'Warnings on catalogs whose connector can bypass restrictions and that no setting lists. `witness`: lines for the catalog file that prevent it.',
  )
  open_catalogs!: Finding[];

  @ApiProperty({ type: [BrokenGuaranteeResponse] }) broken_guarantees!: BrokenGuaranteeResponse[];
  @ApiProperty({ description: 'All targets, for display.' }) target!: string;
  @ApiField([TargetResponse], 'Each target; all get the same version.') targets!: TargetResponse[];

  @ApiPropertyOptional({
    type: [OpaInstanceResponse],
    description: 'Instances of OPA that reported within a day, at most 100; only with target `opa`, like `canary`.',
  })
  instances?: OpaInstanceResponse[];

  @ApiPropertyOptional({
    type: CanaryResponse,
    nullable: true,
    description: 'The last answer to the canary statement. Null: no engine is configured, or it was not asked.',
  })
  canary?: CanaryResponse | null;
}
