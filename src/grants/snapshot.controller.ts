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

/** The fields of rows differ by kind, so the schema leaves them open. `apply` refuses unknown fields with their places. */
const ROWS = { type: 'array', items: {} } as const;

const SNAPSHOT = {
  type: 'object',
  description: 'A snapshot file: principals by name, or by the ids of its own users and groups.',
  properties: {
    version: { type: 'integer', enum: [1] },
    ...{ users: ROWS, groups: ROWS, grants: ROWS, policies: ROWS, guarantees: ROWS },
  },
} as const;

/** Keeps class-transformer from transforming the file, because it would call the value of a field named `constructor`. */
@Exclude()
class UnreadSnapshot {}

class SnapshotDto {
  @ApiProperty({ ...SNAPSHOT, additionalProperties: true })
  // Passed on as it was sent: the reader of snapshot files validates it.
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

class SnapshotResponse {
  @ApiProperty({ type: 'integer', enum: [1] }) version!: 1;
  @ApiProperty(ROWS) users!: unknown[];
  @ApiProperty(ROWS) groups!: unknown[];
  @ApiProperty(ROWS) grants!: unknown[];
  @ApiProperty(ROWS) policies!: unknown[];
  @ApiPropertyOptional(ROWS) guarantees?: unknown[];
}

const ROW = {
  type: 'object',
  additionalProperties: true,
  properties: { description: { type: 'string' } },
  description: 'By name, as in the snapshot.',
} as const;

class PlanStepResponse {
  @ApiProperty({ enum: ['add', 'change', 'remove'] }) action!: PlanStep['action'];
  @ApiProperty({ enum: ['group', 'member', 'grant', 'policy', 'guarantee'] }) kind!: PlanStep['kind'];
  @ApiProperty(ROW) row!: PlanRow;
  @ApiPropertyOptional({ ...ROW, description: 'Of a change: the row that it replaces.' }) before?: PlanRow;
}

class SnapshotProblemResponse {
  @ApiProperty({ example: 'grants[1].principal' }) path!: string;
  @ApiProperty() message!: string;
}

class AppliedResponse implements AppliedForm {
  @ApiProperty({ enum: ['applied', 'planned', 'no_change', 'refused'] }) outcome!: AppliedForm['outcome'];
  @ApiProperty({ type: [PlanStepResponse] }) plan!: PlanStep[];
  @ApiField([SnapshotProblemResponse], 'Why it is refused; nothing is changed then.') problems!: SnapshotProblem[];
  @ApiProperty({ type: [SnapshotProblemResponse] }) remarks!: SnapshotProblem[];
  @ApiProperty(TEXTS) warnings!: string[];
}

const REFUSALS = ['busy', 'too_many_requests', 'guarantee_broken', 'reauthentication_required'] as const;

/** Exports and applies snapshot files as the commands `snapshot export` and `snapshot apply` do, without the database's password. */
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
  @ApiRoute('applySnapshot', 'Make what is recorded equal to a snapshot', ...REFUSALS)
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
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AppliedResponse> {
    const proveAdministrator = (): void => requireRecentProof(user, this.clock.now());
    const applied = await this.files.apply(snapshot, { dryRun: dry_run, prune, proveAdministrator }, by);
    if (applied.outcome === 'refused') void reply.status(422);
    return applied;
  }
}
