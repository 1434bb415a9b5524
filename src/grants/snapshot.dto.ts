import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Exclude, Transform, Type } from 'class-transformer';
import { IsBoolean, IsObject } from 'class-validator';
import { TEXTS } from '../platform/http/api-fields.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import type { AppliedForm } from './snapshot-files.service.js';
import type { PlanRow, PlanStep } from './domain/snapshot-plan.js';

/** The fields of rows differ by kind: `snapshot export` shows them, and `apply` refuses others with their places. */
const ROWS = { type: 'array', items: {} } as const;

const SNAPSHOT = {
  type: 'object',
  description: 'A snapshot file: principals by name, or by the ids of its own users and groups.',
  properties: {
    version: { type: 'integer', enum: [1] },
    ...{ users: ROWS, groups: ROWS, grants: ROWS, policies: ROWS },
  },
} as const;

/** Of this nothing is transformed: class-transformer calls what a field named `constructor` holds. */
@Exclude()
class UnreadSnapshot {}

export class SnapshotDto {
  @ApiProperty({ ...SNAPSHOT, additionalProperties: true })
  // As it was sent: the reader of snapshot files judges it.
  @Type(() => UnreadSnapshot)
  @Transform(({ obj }: { obj: Record<string, unknown> }) => obj['snapshot'])
  @IsObject({ message: 'must be an object' })
  snapshot!: object;

  @ApiPropertyOptional({ type: Boolean, default: false, description: 'Everything is judged, and nothing is written.' })
  @IsBoolean({ message: 'must be true or false' })
  dry_run = false;

  @ApiPropertyOptional({ type: Boolean, default: false, description: 'Removes what the snapshot does not name.' })
  @IsBoolean({ message: 'must be true or false' })
  prune = false;
}

export class SnapshotResponse {
  @ApiProperty({ type: 'integer', enum: [1] }) version!: 1;
  @ApiProperty(ROWS) users!: unknown[];
  @ApiProperty(ROWS) groups!: unknown[];
  @ApiProperty(ROWS) grants!: unknown[];
  @ApiProperty(ROWS) policies!: unknown[];
}

const ROW = {
  type: 'object',
  additionalProperties: true,
  properties: { description: { type: 'string' } },
  description: 'By name, as in the snapshot.',
} as const;

class PlanStepResponse {
  @ApiProperty({ enum: ['add', 'change', 'remove'] }) action!: PlanStep['action'];
  @ApiProperty({ enum: ['group', 'member', 'grant', 'policy'] }) kind!: PlanStep['kind'];
  @ApiProperty(ROW) row!: PlanRow;
  @ApiPropertyOptional({ ...ROW, description: 'Of a change: the row that it replaces.' }) before?: PlanRow;
}

class SnapshotProblemResponse {
  @ApiProperty({ example: 'grants[1].principal' }) path!: string;
  @ApiProperty() message!: string;
}

export class AppliedResponse implements AppliedForm {
  @ApiProperty({ enum: ['applied', 'planned', 'no_change', 'refused'] }) outcome!: AppliedForm['outcome'];
  @ApiProperty({ type: [PlanStepResponse] }) plan!: PlanStep[];

  @ApiProperty({ type: [SnapshotProblemResponse], description: 'Why it is refused; nothing is changed then.' })
  problems!: SnapshotProblem[];

  @ApiProperty({ type: [SnapshotProblemResponse] }) remarks!: SnapshotProblem[];
  @ApiProperty(TEXTS) warnings!: string[];
}
