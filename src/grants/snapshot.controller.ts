import { Body, Controller, Get, Post, Res } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import { Exclude, Transform, Type } from 'class-transformer';
import { IsBoolean, IsObject } from 'class-validator';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { requireRecentProof } from '../auth/domain/session.js';
import { Clock } from '../kernel/clock.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  CurrentAuditContext,
  CurrentUser,
  OpenToTokens,
} from '../platform/http/access.js';
import { ApiField, TEXTS } from '../platform/http/api-fields.js';
import { BodyLimits, BULK } from '../platform/http/body-limits.js';
import { Answers, ApiRoute } from '../platform/http/openapi.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import type { PlanRow, PlanStep } from './domain/snapshot-changes.js';
import { type AppliedForm, SnapshotFilesService } from './snapshot-files.service.js';

/** OpenAPI schema of rows. It does not list fields, because they differ by kind; `apply` reports unknown fields with their places. */
const ROWS_SCHEMA = { type: 'array', items: {} } as const;

const SNAPSHOT_SCHEMA = {
  type: 'object',
  description: 'A snapshot file: principals by name, or by the ids of its own users and groups.',
  properties: {
    version: { type: 'integer', enum: [1] },
    ...{ users: ROWS_SCHEMA, groups: ROWS_SCHEMA, grants: ROWS_SCHEMA, policies: ROWS_SCHEMA, guarantees: ROWS_SCHEMA },
  },
} as const;

/** Keeps class-transformer from transforming the file: class-transformer would call the value of a field named `constructor`. */
@Exclude()
class UnreadSnapshot {}

class SnapshotDto {
  @ApiProperty({ ...SNAPSHOT_SCHEMA, additionalProperties: true })
  @Type(() => UnreadSnapshot)
  @Transform(({ obj }: { obj: Record<string, unknown> }) => obj['snapshot'])
  @IsObject({ message: 'must be an object' })
  snapshot!: object;

  @ApiPropertyOptional({ type: Boolean, default: false, description: 'Checks everything, writes nothing.' })
  @IsBoolean({ message: 'must be true or false' })
  dry_run = false;

  @ApiPropertyOptional({ type: Boolean, default: false, description: 'Removes entries that are not in it.' })
  @IsBoolean({ message: 'must be true or false' })
  prune = false;
}

class SnapshotResponse {
  @ApiProperty({ type: 'integer', enum: [1] }) version!: 1;
  @ApiProperty(ROWS_SCHEMA) users!: unknown[];
  @ApiProperty(ROWS_SCHEMA) groups!: unknown[];
  @ApiProperty(ROWS_SCHEMA) grants!: unknown[];
  @ApiProperty(ROWS_SCHEMA) policies!: unknown[];
  @ApiPropertyOptional(ROWS_SCHEMA) guarantees?: unknown[];
}

const ROW_SCHEMA = {
  type: 'object',
  additionalProperties: true,
  properties: { description: { type: 'string' } },
  description: 'The row, with principals by name, as in the snapshot.',
} as const;

class PlanStepResponse {
  @ApiProperty({ enum: ['add', 'change', 'remove'] }) action!: PlanStep['action'];
  @ApiProperty({ enum: ['group', 'member', 'grant', 'policy', 'guarantee'] }) kind!: PlanStep['kind'];
  @ApiProperty(ROW_SCHEMA) row!: PlanRow;
  @ApiPropertyOptional({ ...ROW_SCHEMA, description: 'For a change: the former row.' }) before?: PlanRow;
}

class SnapshotProblemResponse {
  @ApiProperty({ example: 'grants[1].principal' }) path!: string;
  @ApiProperty() message!: string;
}

class AppliedResponse implements AppliedForm {
  @ApiProperty({ enum: ['applied', 'planned', 'no_change', 'refused'] }) outcome!: AppliedForm['outcome'];
  @ApiProperty({ type: [PlanStepResponse] }) plan!: PlanStep[];
  @ApiField([SnapshotProblemResponse], 'Why it is refused; nothing is changed then.')
  problems!: SnapshotProblem[];
  @ApiProperty({ type: [SnapshotProblemResponse] }) remarks!: SnapshotProblem[];
  @ApiProperty(TEXTS) warnings!: string[];
}

const APPLY_REFUSALS = ['busy', 'too_many_requests', 'guarantee_broken', 'reauthentication_required'] as const;

/** Routes that export and apply snapshot files, as the commands `snapshot export` and `snapshot apply` do with a database connection. */
@ApiTags('grants')
@AdministratorsOnly()
@Controller('api/admin/snapshot')
export class SnapshotController {
  constructor(
    private readonly files: SnapshotFilesService,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('exportSnapshot', 'What is live, by name, as a snapshot', 'too_many_requests')
  @CountsWork()
  @Get()
  @Answers(SnapshotResponse)
  export(): Promise<SnapshotResponse> {
    return this.files.export();
  }

  @OpenToTokens('admin.write')
  @ApiRoute('applySnapshot', 'Make what is recorded equal to a snapshot', ...APPLY_REFUSALS)
  @CountsWork()
  @Post()
  @BodyLimits(BULK)
  @Answers(AppliedResponse)
  @ApiUnprocessableEntityResponse({
    type: AppliedResponse,
    description: 'Refused, with all places; nothing is changed',
  })
  async apply(
    @Body() { snapshot, dry_run, prune }: SnapshotDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AppliedResponse> {
    const proveAdministrator = (): void => requireRecentProof(user, this.clock.now());
    const options = { isDryRun: dry_run, mustPrune: prune, proveAdministrator };
    const result = await this.files.apply(snapshot, options, context);
    if (result.outcome === 'refused') void reply.status(422);
    return result;
  }
}
