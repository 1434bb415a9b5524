import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { INTEGER } from '../platform/http/api-fields.js';
import { Cursor, DecimalText, NOT_OURS, PageLimit } from '../platform/http/page.dto.js';
import { FieldRule, TextRule, WITHOUT_NUL } from '../platform/http/validation.js';
import { type HistoryPosition, positionOfCursor } from './domain/publication-history.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem } from './domain/restore.js';

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
