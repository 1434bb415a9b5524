import { Readable } from 'node:stream';
import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiExtraModels,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { type Client, CurrentClient, type CurrentPerson, CurrentUser, UntilClientGone } from '../platform/access.js';
import { Refuses } from '../platform/refuses.js';
import { readQueryCursor } from './domain/query-cursor.js';
import { readRowCursor } from './domain/row-window.js';
import { chooseFormat } from './domain/rows-format.js';
import { ListQueriesDto, RowsDto, SubmitQueryDto } from './queries.dto.js';
import { QueriesService, type Rows } from './queries.service.js';
import {
  QueryListResponse,
  QueryResponse,
  RowsResponse,
  toQueryErrorResponse,
  toQueryListResponse,
  toQueryResponse,
  toRowsResponse,
} from './query.response.js';
import type { RowsPage } from './row-reader.js';
import { csv, ndjson } from './row-stream.js';

/** Seconds that a person with too many queries is asked to wait. */
const TRY_AGAIN_AFTER = 5;

const ROWS = {
  'application/json': { schema: { $ref: getSchemaPath(RowsResponse) } },
  'application/x-ndjson': {
    schema: { type: 'string', description: 'A line with the columns, a line with an array for each row.' },
  },
  'text/csv': { schema: { type: 'string', description: 'RFC 4180, with a header.' } },
};

@ApiTags('queries')
@ApiExtraModels(RowsResponse)
@ApiBearerAuth('access-token')
@Controller('api/queries')
export class QueriesController {
  constructor(private readonly queries: QueriesService) {}

  @Refuses('impersonation_disabled', 'too_many_queries', 'engine_unavailable')
  @Post()
  @ApiCreatedResponse({ type: QueryResponse })
  async submit(
    @Body() { sql, catalog, schema, parameters }: SubmitQueryDto,
    @CurrentUser() person: CurrentPerson,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<QueryResponse> {
    const asked = { sql, catalog: catalog ?? null, schema: schema ?? null, parameters };
    const submitted = await this.queries.submit(person, asked, client.requestId, signal);
    switch (submitted.kind) {
      case 'submitted':
        void reply.header('Location', `/api/queries/${submitted.query.id}`);
        return toQueryResponse(submitted.query);
      case 'refused':
        throw new Refused(
          submitted.code,
          submitted.code === 'impersonation_disabled' ? {} : { retryAfter: TRY_AGAIN_AFTER },
        );
      case 'unfit':
        throw invalid(submitted.field, submitted.message);
    }
  }

  @Get()
  @ApiOkResponse({ type: QueryListResponse })
  async list(
    @Query() { limit, after }: ListQueriesDto,
    @CurrentUser() person: CurrentPerson,
  ): Promise<QueryListResponse> {
    return toQueryListResponse(
      await this.queries.list(person, after === undefined ? null : readQueryCursor(after), limit),
    );
  }

  @Get(':id')
  @ApiOkResponse({ type: QueryResponse })
  async find(@Param('id') id: string, @CurrentUser() person: CurrentPerson): Promise<QueryResponse> {
    const query = await this.queries.find(person, id);
    if (query === null) throw new Refused('not_found');
    return toQueryResponse(query);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse()
  async cancel(@Param('id') id: string, @CurrentUser() person: CurrentPerson): Promise<void> {
    if (!(await this.queries.cancel(person, id))) throw new Refused('not_found');
  }

  @Refuses('page_gone', 'query_failed', 'query_cancelled', 'engine_unavailable')
  @Get(':id/rows')
  @ApiOkResponse({ content: ROWS })
  async rows(
    @Param('id') id: string,
    @Query() { limit, after }: RowsDto,
    @Headers('accept') accept: string | undefined,
    @CurrentUser() person: CurrentPerson,
    @UntilClientGone() gone: AbortSignal,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const from = after === undefined ? 0 : (readRowCursor(after) ?? 0);
    void reply.header('Vary', 'Accept');
    const format = chooseFormat(accept);
    if (format === 'json') {
      const page = pageOf(await this.queries.rows(person, id, from, limit));
      await reply.send(toRowsResponse(page));
      return;
    }
    const all = (place: number): Promise<Rows> => this.queries.rows(person, id, place, Infinity);
    const first = await this.firstPage(all, from, gone);
    void reply.type(format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson');
    await reply.send(Readable.from(format === 'csv' ? csv(first, all) : ndjson(first, all)));
  }

  /** A stream begins with its columns, so it begins when they are known; until then a failure still has a status. */
  private async firstPage(all: (place: number) => Promise<Rows>, from: number, gone: AbortSignal): Promise<RowsPage> {
    for (;;) {
      const page = pageOf(await all(from));
      if (page.columns.length > 0 || page.next === null || gone.aborted) return page;
    }
  }
}

function pageOf(rows: Rows): RowsPage {
  switch (rows.kind) {
    case 'page':
      return rows.page;
    case 'not-found':
      throw new Refused('not_found');
    case 'unknown-place':
      throw invalid('after', 'must be the `next` of an earlier page');
    case 'gone':
      throw new Refused('page_gone', { detail: 'Only the newest page can be asked for again.' });
    case 'ended':
      throw new Refused(rows.state === 'failed' ? 'query_failed' : 'query_cancelled', {
        detail: rows.error.message,
        members: { error: toQueryErrorResponse(rows.error) },
      });
  }
}

function invalid(field: string, message: string): Refused {
  return new Refused('validation_failed', { errors: [{ field, message }] });
}
