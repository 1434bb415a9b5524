import { Readable } from 'node:stream';
import { All, Body, Controller, Delete, Get, Headers, Param, Post, Query, Res } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiExcludeController,
  ApiExtraModels,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
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
import { NOT_OURS } from '../platform/http/page.dto.js';
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
import { RowStreams } from './row-streams.service.js';

const ROWS = {
  'application/json': { schema: { $ref: getSchemaPath(RowsResponse) } },
  'application/x-ndjson': {
    schema: { type: 'string', description: 'A line with the columns, a line with an array for each row.' },
  },
  'text/csv': {
    schema: {
      type: 'string',
      description:
        'RFC 4180, with a header. Values are for programs, and as they are: a spreadsheet may take some for formulas.',
    },
  },
};

/** A JSON page with at most so many parts (about two mebibytes of rows, and their envelope) is sent at once with its length. */
const WHOLE_PAGE = 18;

const MEDIA_TYPES: Readonly<Record<RowsFormat, string>> = {
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
  @BodyLimits({ bytes: 1_153_433, maxValues: 20_000 })
  @ApiCreatedResponse({ type: QueryResponse })
  async submit(
    @Body() { sql, catalog, schema, parameters }: SubmitQueryDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<QueryResponse> {
    const asked = { sql, catalog: catalog ?? null, schema: schema ?? null, parameters };
    const query = await this.queries.submit(user, asked, client);
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
    const from = after === undefined ? null : readQueryCursor(after);
    return mapPage(await this.queries.list(user, from, limit), toQueryResponse);
  }

  @OpenToTokens('queries')
  @ApiRoute('getQuery', 'One own query')
  @Get(':id')
  @Answers(QueryResponse)
  async find(@Param('id') id: string, @CurrentUser() user: AuthenticatedUser): Promise<QueryResponse> {
    return toQueryResponse(orNotFound(await this.queries.find(user, id)));
  }

  @OpenToTokens('queries')
  @ApiRoute('cancelQuery', 'Cancel an own query')
  @Delete(':id')
  @NoContent()
  async cancel(@Param('id') id: string, @CurrentUser() user: AuthenticatedUser): Promise<void> {
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
  @ApiOkResponse({ content: ROWS })
  async rows(
    @Param('id') id: string,
    @Query() { limit, after, format: asked }: RowsDto,
    @Headers('accept') accept: string | undefined,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() { gone }: Client,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const from = after === undefined ? 0 : (keyOfCursor(after) ?? 0);
    void reply.header('Vary', 'Accept');
    const format = asked ?? chooseFormat(accept);
    const isStream = format !== 'json';
    const all = (place: number): Promise<RowsResult> => this.queries.rows(user, id, place, isStream ? Infinity : limit);
    const { first, rest } = isStream
      ? await this.firstPage(all, from, gone)
      : { first: pageOf(await all(from)), rest: 'none' as const };
    const stream = this.streams.begin(first, user, id, rest);
    this.streams.follow(stream, reply.raw);
    const together = !isStream ? WHOLE_PAGE : first.length > 0 ? 2 : 1;
    const bytes = stream.bytes(format, together);
    const beginning = await beginningOf(bytes, together);
    void reply.type(MEDIA_TYPES[format]);
    if (asked !== undefined) void reply.header('Content-Disposition', 'attachment; filename="results.csv"');
    await reply.send(beginning.isWhole ? beginning.bytes : Readable.from(joined(beginning.bytes, bytes)));
  }

  /** The first page with known columns. A stream begins with the columns, so failures before are answered with a status. */
  private async firstPage(
    all: (place: number) => Promise<RowsResult>,
    from: number,
    gone: AbortSignal,
  ): Promise<{ first: RowsPage; rest: 'follows' | 'is-late' }> {
    for (let rest: 'follows' | 'is-late' = 'follows'; ; rest = 'is-late') {
      const first = pageOf(await all(from));
      if (first.columns.length > 0 || first.next === null || gone.aborted) return { first, rest };
    }
  }
}

/** Makes the first parts of an answer before any is sent, so that their failures are answered with a status. */
async function beginningOf(bytes: AsyncIterator<Buffer>, count: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const parts: Buffer[] = [];
  while (parts.length < count) {
    const part = await bytes.next();
    if (part.done === true) return { bytes: Buffer.concat(parts), isWhole: true };
    parts.push(part.value);
  }
  return { bytes: Buffer.concat(parts), isWhole: false };
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield first;
  yield* rest;
}

function pageOf(result: RowsResult): RowsPage {
  switch (result.kind) {
    case 'page':
      return result.page;
    case 'not-found':
      throw new Refused('not_found');
    case 'unknown-place':
      throw new Refused('validation_failed', { errors: [{ field: 'after', message: NOT_OURS }] });
    case 'gone':
      throw new Refused('page_gone', { detail: 'Only the newest page can be asked for again.' });
    case 'ended':
      throw queryProblem(result.state, result.error);
  }
}

/**
 * The engine's former public route, which answers 405 for every method. AllowedMethods does so before the body is read, so that SQL as
 * text/plain does not get 415.
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
