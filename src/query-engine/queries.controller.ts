import { Readable } from 'node:stream';
import { All, Body, Controller, Delete, Get, Headers, Param, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiExcludeController,
  ApiExtraModels,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CSV_TYPE } from '../kernel/csv.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { keyOfCursor, mapPage } from '../kernel/page.js';
import {
  type Client,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
  OpenToTokens,
  Public,
} from '../platform/http/access.js';
import { BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { INVALID_CURSOR } from '../platform/http/page.dto.js';
import { UuidPipe } from '../platform/http/parameters.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import type { RowsPage, RowsResult } from './domain/held-page.js';
import { readQueryCursor } from './domain/query.js';
import { chooseFormat } from './domain/row-encoder.js';
import type { RowsFormat } from './domain/row-loop.js';
import {
  ListQueriesDto,
  QueryListResponse,
  queryProblem,
  QueryResponse,
  RowsDto,
  RowsResponse,
  SubmitQueryDto,
  toQueryResponse,
} from './queries.dto.js';
import { QueriesService } from './queries.service.js';
import { MAX_BYTES_AT_ONCE, RowStreams } from './row-streams.service.js';

const ROWS_CONTENT = {
  'application/json': { schema: { $ref: getSchemaPath(RowsResponse) } },
  'application/x-ndjson': {
    schema: {
      type: 'string',
      description:
        'A line with the columns, a line with an array for each row, a last line with `error` if it failed midway.',
    },
  },
  'text/csv': {
    schema: {
      type: 'string',
      description:
        'RFC 4180, with a header. Values are for programs, and as they are: a spreadsheet may take some for formulas.',
    },
  },
};

/** A JSON page of at most this many parts, about two mebibytes of rows, is sent at once, with a Content-Length. */
const MAX_PARTS_AT_ONCE = 18;

const MEDIA_TYPE_BY_FORMAT: Readonly<Record<RowsFormat, string>> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson',
  csv: CSV_TYPE,
};

@ApiTags('queries')
@ApiExtraModels(RowsResponse)
@ApiBearerAuth('access-token')
@Controller('api/queries')
export class QueriesController {
  constructor(
    private readonly queries: QueriesService,
    private readonly streams: RowStreams,
  ) {}

  @OpenToTokens('queries')
  @ApiRoute(
    'submitQuery',
    'Run SQL under the own name',
    'impersonation_disabled',
    'too_many_queries',
    'too_many_requests',
    'engine_unavailable',
    'engine_forbidden',
  )
  @CountsWork('refused')
  @Post()
  @BodyLimits({ maxBytes: 1_153_433, maxValues: 20_000 })
  @ApiCreatedResponse({ type: QueryResponse })
  async submit(
    @Body() { sql, catalog, schema, parameters }: SubmitQueryDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<QueryResponse> {
    const submission = { sql, catalog: catalog ?? null, schema: schema ?? null, parameters };
    const query = await this.queries.submit(user, submission, client);
    void reply.header('Location', `/api/queries/${query.id}`);
    return toQueryResponse(query);
  }

  @OpenToTokens('queries')
  @ApiRoute('listQueries', 'The own queries, newest first')
  @Get()
  @Answers(QueryListResponse)
  async list(
    @Query() { limit, after }: ListQueriesDto,
    @CurrentUser() user: AuthenticatedUser,
  ): Promise<QueryListResponse> {
    const cursor = after === undefined ? null : readQueryCursor(after);
    return mapPage(await this.queries.list(user, cursor, limit), toQueryResponse);
  }

  @OpenToTokens('queries')
  @ApiRoute('getQuery', 'One own query')
  @Get(':id')
  @Answers(QueryResponse)
  async find(@Param('id', UuidPipe) id: string, @CurrentUser() user: AuthenticatedUser): Promise<QueryResponse> {
    return toQueryResponse(orNotFound(await this.queries.find(user, id)));
  }

  @OpenToTokens('queries')
  @ApiRoute('cancelQuery', 'Cancel an own query')
  @Delete(':id')
  @NoContent()
  async cancel(@Param('id', UuidPipe) id: string, @CurrentUser() user: AuthenticatedUser): Promise<void> {
    if (!(await this.queries.cancel(user, id))) throw new Refused('not_found');
  }

  @OpenToTokens('queries')
  @ApiRoute(
    'readRows',
    'Rows of an own query: a page as JSON, or all of them as a stream',
    'page_gone',
    'query_failed',
    'query_cancelled',
    'too_many_unread_rows',
    'busy',
    'engine_unavailable',
  )
  @Get(':id/rows')
  @ApiOkResponse({ content: ROWS_CONTENT })
  async rows(
    @Param('id', UuidPipe) id: string,
    @Query() { limit, after, format: requestedFormat }: RowsDto,
    @Headers('accept') accept: string | undefined,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() { signal }: Client,
    @Req() { method }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const firstRow = after === undefined ? 0 : (keyOfCursor(after) ?? 0);
    void reply.header('Vary', 'Accept');
    const format = requestedFormat ?? chooseFormat(accept);
    const isStream = format !== 'json';
    if (method === 'HEAD') {
      // HEAD must change nothing (RFC 9110 section 9.2.1), and rows are handed out only once.
      orNotFound(await this.queries.find(user, id));
      await reply.type(MEDIA_TYPE_BY_FORMAT[format]).send(Readable.from([]));
      return;
    }
    const rowsFrom = (startRow: number): Promise<RowsResult> =>
      this.queries.rows(user, id, startRow, isStream ? Infinity : limit);
    const { page, mode } = isStream
      ? await this.firstPage(rowsFrom, firstRow, signal)
      : { page: pageOf(await rowsFrom(firstRow)), mode: 'none' as const };
    const stream = this.streams.begin(page, user, id, mode);
    this.streams.endWithResponse(stream, reply.raw);
    const maxPartsAtOnce = !isStream ? MAX_PARTS_AT_ONCE : page.length > 0 ? 2 : 1;
    const bytes = stream.bytes(format, maxPartsAtOnce);
    const beginning = await beginningOf(bytes, maxPartsAtOnce);
    void reply.type(MEDIA_TYPE_BY_FORMAT[format]);
    if (requestedFormat !== undefined) void reply.header('Content-Disposition', 'attachment; filename="results.csv"');
    await reply.send(beginning.isWhole ? beginning.bytes : Readable.from(prepend(beginning.bytes, bytes)));
  }

  /** Waits for the first page with known columns, before the stream begins, so that a failure can still be answered with an HTTP status. */
  private async firstPage(
    rowsFrom: (startRow: number) => Promise<RowsResult>,
    firstRow: number,
    readerGone: AbortSignal,
  ): Promise<{ page: RowsPage; mode: 'follows' | 'is-late' }> {
    for (let mode: 'follows' | 'is-late' = 'follows'; ; mode = 'is-late') {
      const page = pageOf(await rowsFrom(firstRow));
      if (page.columns.length > 0 || page.next === null || readerGone.aborted) return { page, mode };
    }
  }
}

/** Makes the first parts of an answer before any part is sent, so that a failure meanwhile can still be answered with an HTTP status. */
async function beginningOf(bytes: AsyncIterator<Buffer>, count: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const parts: Buffer[] = [];
  for (let size = 0; parts.length < count && size < MAX_BYTES_AT_ONCE;) {
    const part = await bytes.next();
    if (part.done === true) return { bytes: Buffer.concat(parts), isWhole: true };
    parts.push(part.value);
    size += part.value.length;
  }
  return { bytes: Buffer.concat(parts), isWhole: false };
}

async function* prepend(beginning: Buffer, remainder: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield beginning;
  yield* remainder;
}

function pageOf(result: RowsResult): RowsPage {
  switch (result.kind) {
    case 'page':
      return result.page;
    case 'not-found':
      throw new Refused('not_found');
    case 'unknown-place':
      throw new Refused('validation_failed', { errors: [{ field: 'after', message: INVALID_CURSOR }] });
    case 'gone':
      throw new Refused('page_gone', { detail: 'Only the newest page can be asked for again.' });
    case 'ended':
      throw queryProblem(result.state, result.error);
  }
}

/**
 * The engine's former public route, which answers 405 for every method. AllowedMethods sends the 405 before the body is read, because
 * reading SQL as text/plain would end with 415.
 */
@Public()
@ApiExcludeController()
@Controller('v1/statement')
export class RetiredRouteController {
  @All(['', '*'])
  statement(): never {
    throw new Refused('method_not_allowed');
  }
}
