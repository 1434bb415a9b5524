import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Clock } from '../kernel/clock.js';
import { resourceNameProblem } from '../kernel/name.js';
import { mapPage, pageOf } from '../kernel/page.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  type Client,
  CurrentClient,
  CurrentUser,
  OpenToTokens,
} from '../platform/http/access.js';
import { ApiField, ApiNullable, INTEGER, PageResponse } from '../platform/http/api-fields.js';
import { Compressed } from '../platform/http/compression.js';
import { Answers, ApiRoute } from '../platform/http/openapi.js';
import { AfterNames, Limit, LIMITS, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule, TextRule, WITHOUT_NUL } from '../platform/http/validation.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { type Level, LEVELS } from '../trino-rules/model/node.js';
import {
  type Children,
  type ChildrenRequest,
  EngineCatalog,
  type FoundTables,
  mergeTables,
  levelBelow,
  namedChildren,
  mergeChildren,
} from './domain/catalog.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { GrantStore } from './grant.store.js';
import { parsePath } from './resource.dto.js';

class ChildrenQuery {
  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 512,
    example: 'sales.eu',
    description:
      'A catalog or a schema; without it, the catalogs. A name that holds a dot or a quote stands in double quotes.',
  })
  @FieldRule(absentOr(underProblem))
  under?: string;

  @SearchText('Of which a part of the name.')
  q?: string;

  @Limit(LIMITS.names)
  limit = LIMITS.names.fallback;

  @AfterNames()
  after: string[] | null = null;
}

class TablesQuery {
  @ApiProperty({ type: String, example: 'sales' })
  @TextRule(resourceNameProblem)
  catalog!: string;

  @ApiProperty({ type: String, minLength: 1, maxLength: 254, pattern: WITHOUT_NUL, description: 'A part of the name.' })
  @TextRule((text) =>
    text === '' || text.length > 254 || text.includes('\0')
      ? 'must be a text of 1 to 254 characters, without NUL'
      : null,
  )
  q!: string;

  @Limit(LIMITS.items)
  limit = LIMITS.items.fallback;
}

class ChildResponse {
  @ApiProperty() name!: string;
  @ApiProperty({ enum: LEVELS }) level!: Level;
  @ApiNullable(Boolean, 'Whether the engine lists it; null: not known.') in_engine!: boolean | null;
  @ApiField(INTEGER, 'Live grants on it and below it; of the own tree, those to the caller.') grants!: number;
}

class AnyChildResponse extends ChildResponse {
  @ApiField(INTEGER, 'Policies on it and below it.') policies!: number;
}

class FoundTableResponse extends AnyChildResponse {
  @ApiProperty() schema!: string;
}

const ENGINE = {
  enum: ['listed', 'none', 'closed', 'unavailable'],
  description:
    '`listed`: its names are among these. Otherwise these are the names of grants and policies alone: no engine is asked, it shows nothing of this node to whoever asks, or it does not answer.',
};
const TOTAL = {
  ...INTEGER,
  nullable: true,
  description: 'Of those that the engine lists on all pages; null: not known.',
};

class AnyChildrenResponse extends PageResponse(AnyChildResponse) {
  @ApiProperty(TOTAL) total!: number | null;
  @ApiProperty(ENGINE) engine!: Children['engine'];
}

class ChildrenResponse extends PageResponse(ChildResponse) {
  @ApiProperty(TOTAL) total!: number | null;
  @ApiProperty(ENGINE) engine!: Children['engine'];
}

class FoundTablesResponse {
  @ApiProperty({ type: [FoundTableResponse] }) items!: FoundTableResponse[];
  @ApiField(TOTAL, 'Of those that the engine lists; null: not known.') total!: number | null;
  @ApiProperty(ENGINE) engine!: Children['engine'];
}

function toChildrenRequest({ under, q, limit, after }: ChildrenQuery): ChildrenRequest {
  const node = under === undefined ? {} : parsePath(under);
  if (node === null) throw new Error('the query was not validated');
  return { under: node, q: q?.toLowerCase() ?? '', after: after?.[0] ?? null, limit };
}

function toAnyChildren({ items, total, engine }: Children, limit: number): AnyChildrenResponse {
  const page = pageOf(items, limit, ({ name }) => [name]);
  const shown = mapPage(page, ({ name, level, inEngine, grants, policies }) => {
    return { name, level, in_engine: inEngine, grants, policies };
  });
  return { ...shown, total, engine };
}

function toOwnChildren(children: Children, limit: number): ChildrenResponse {
  const { items, ...page } = toAnyChildren(children, limit);
  return { ...page, items: items.map(({ name, level, in_engine, grants }) => ({ name, level, in_engine, grants })) };
}

function toFoundTables({ items, total, engine }: FoundTables): FoundTablesResponse {
  const tables = items.map(({ inEngine, schema, name, grants, policies }) => ({
    ...{ schema, name, grants, policies },
    level: 'table' as const,
    in_engine: inEngine,
  }));
  return { items: tables, total, engine };
}

function underProblem(value: unknown): string | null {
  const node = typeof value === 'string' ? parsePath(value) : null;
  return node !== null && levelBelow(node) !== null ? null : 'must be like sales or sales.eu';
}

/** Catalogs, schemas and tables that the engine shows the caller or that grants to the caller name. */
@ApiTags('catalog')
@ApiBearerAuth('access-token')
@Controller('api/catalog')
export class CatalogController {
  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly engine: EngineCatalog,
  ) {}

  @OpenToTokens('access.read')
  @ApiRoute('listOwnCatalog', 'Catalogs, schemas or tables that the engine shows the caller', 'too_many_requests')
  @CountsWork()
  @Compressed()
  @Get()
  @Answers(ChildrenResponse)
  async children(
    @Query() query: ChildrenQuery,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() { gone }: Client,
  ): Promise<ChildrenResponse> {
    const request = toChildrenRequest(query);
    const [{ grants }, listing] = await Promise.all([
      this.snapshots.readFor({ type: 'user', id: user.id }, null),
      this.engine.children(request, user.username, gone),
    ]);
    const nodes = grants.map(({ resource }) => resource);
    return toOwnChildren(mergeChildren(request, namedChildren(nodes, request), listing), query.limit);
  }
}

/** Catalogs, schemas and tables that grants and policies name or the engine lists. */
@ApiTags('catalog')
@AdministratorsOnly()
@Controller('api/admin/catalog')
export class CatalogAdministrationController {
  constructor(
    private readonly grants: GrantStore,
    private readonly engine: EngineCatalog,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listCatalog', 'Catalogs, schemas or tables that grants, policies or the engine name')
  @Compressed()
  @Get()
  @Answers(AnyChildrenResponse)
  async children(@Query() query: ChildrenQuery, @CurrentClient() { gone }: Client): Promise<AnyChildrenResponse> {
    const request = toChildrenRequest(query);
    const [named, listing] = await Promise.all([
      this.grants.namedChildren(request, this.clock.now()),
      this.engine.children(request, null, gone),
    ]);
    return toAnyChildren(mergeChildren(request, named, listing), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('searchTables', 'Tables of a catalog by a part of their name, of whichever schema')
  @Get('tables')
  @Answers(FoundTablesResponse)
  async tables(
    @Query() { catalog, q, limit }: TablesQuery,
    @CurrentClient() { gone }: Client,
  ): Promise<FoundTablesResponse> {
    const request = { catalog, q: q.toLowerCase(), limit };
    const [named, listing] = await Promise.all([
      this.grants.namedTables(request, this.clock.now()),
      this.engine.tables(request, gone),
    ]);
    return toFoundTables(mergeTables(request, named, listing));
  }
}
