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
import { AfterNames, Limit, PAGE_LIMITS, SearchText } from '../platform/http/page.dto.js';
import { optionalRule, FieldRule, TextRule, WITHOUT_NUL } from '../platform/http/validation.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { type Level, LEVELS } from '../trino-rules/model/node.js';
import {
  type Children,
  type ChildrenRequest,
  EngineCatalog,
  type FoundTables,
  mergeTables,
  childLevel,
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
      'The catalog or schema whose children are listed; without it, the catalogs are. A name with a dot or a quote stands in double quotes.',
  })
  @FieldRule(optionalRule(parentPathProblem))
  under?: string;

  @SearchText('A part of the name.')
  q?: string;

  @Limit(PAGE_LIMITS.names)
  limit = PAGE_LIMITS.names.defaultLimit;

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

  @Limit(PAGE_LIMITS.items)
  limit = PAGE_LIMITS.items.defaultLimit;
}

class ChildResponse {
  @ApiProperty() name!: string;
  @ApiProperty({ enum: LEVELS }) level!: Level;
  @ApiNullable(Boolean, 'Whether the engine lists it; null: not known.') in_engine!: boolean | null;
  @ApiField(INTEGER, 'Live grants on or below it; in the own tree, only those to the caller.')
  grants!: number;
}

class AnyChildResponse extends ChildResponse {
  @ApiField(INTEGER, 'Number of policies on it and below it.') policies!: number;
}

class FoundTableResponse extends AnyChildResponse {
  @ApiProperty() schema!: string;
}

const ENGINE_FIELD = {
  enum: ['listed', 'none', 'closed', 'unavailable'],
  description:
    '`listed`: the list includes the names in the engine. Otherwise it has only names in grants and policies, because no engine is configured (`none`), the engine shows nothing of this node (`closed`), or it does not answer.',
};
const TOTAL_FIELD = {
  ...INTEGER,
  nullable: true,
  description: 'Number of names that the engine lists on all pages; null: not known.',
};

class AnyChildrenResponse extends PageResponse(AnyChildResponse) {
  @ApiProperty(TOTAL_FIELD) total!: number | null;
  @ApiProperty(ENGINE_FIELD) engine!: Children['engine'];
}

class ChildrenResponse extends PageResponse(ChildResponse) {
  @ApiProperty(TOTAL_FIELD) total!: number | null;
  @ApiProperty(ENGINE_FIELD) engine!: Children['engine'];
}

class FoundTablesResponse {
  @ApiProperty({ type: [FoundTableResponse] }) items!: FoundTableResponse[];
  @ApiField(TOTAL_FIELD, 'Number of tables that the engine lists; null: not known.') total!: number | null;
  @ApiProperty(ENGINE_FIELD) engine!: Children['engine'];
}

function toChildrenRequest({ under, q, limit, after }: ChildrenQuery): ChildrenRequest {
  const node = under === undefined ? {} : parsePath(under);
  if (node === null) throw new Error('the query was not validated');
  return { parent: node, namePart: q?.toLowerCase() ?? '', after: after?.[0] ?? null, limit };
}

function toAnyChildren({ items, total, engine }: Children, limit: number): AnyChildrenResponse {
  const page = pageOf(items, limit, ({ name }) => [name]);
  const childrenPage = mapPage(page, ({ name, level, isInEngine, grants, policies }) => {
    return { name, level, in_engine: isInEngine, grants, policies };
  });
  return { ...childrenPage, total, engine };
}

function toOwnChildren(children: Children, limit: number): ChildrenResponse {
  const { items, ...page } = toAnyChildren(children, limit);
  return { ...page, items: items.map(({ name, level, in_engine, grants }) => ({ name, level, in_engine, grants })) };
}

function toFoundTables({ items, total, engine }: FoundTables): FoundTablesResponse {
  const tables = items.map(({ isInEngine, schema, name, grants, policies }) => ({
    ...{ schema, name, grants, policies },
    level: 'table' as const,
    in_engine: isInEngine,
  }));
  return { items: tables, total, engine };
}

function parentPathProblem(value: unknown): string | null {
  const node = typeof value === 'string' ? parsePath(value) : null;
  return node !== null && childLevel(node) !== null ? null : 'must be like sales or sales.eu';
}

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
    @CurrentClient() { signal }: Client,
  ): Promise<ChildrenResponse> {
    const request = toChildrenRequest(query);
    const [{ grants }, listing] = await Promise.all([
      this.snapshots.readFor({ type: 'user', id: user.id }, null),
      this.engine.children(request, user.username, signal),
    ]);
    const nodes = grants.map(({ resource }) => resource);
    return toOwnChildren(mergeChildren(request, namedChildren(nodes, request), listing), query.limit);
  }
}

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
  async children(@Query() query: ChildrenQuery, @CurrentClient() { signal }: Client): Promise<AnyChildrenResponse> {
    const request = toChildrenRequest(query);
    const [recordedChildren, listing] = await Promise.all([
      this.grants.namedChildren(request, this.clock.now()),
      this.engine.children(request, null, signal),
    ]);
    return toAnyChildren(mergeChildren(request, recordedChildren, listing), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('searchTables', 'Tables of a catalog by a part of their name, of whichever schema')
  @Get('tables')
  @Answers(FoundTablesResponse)
  async tables(
    @Query() { catalog, q, limit }: TablesQuery,
    @CurrentClient() { signal }: Client,
  ): Promise<FoundTablesResponse> {
    const request = { catalog, namePart: q.toLowerCase(), limit };
    const [namedTables, listing] = await Promise.all([
      this.grants.namedTables(request, this.clock.now()),
      this.engine.tables(request, signal),
    ]);
    return toFoundTables(mergeTables(request, namedTables, listing));
  }
}
