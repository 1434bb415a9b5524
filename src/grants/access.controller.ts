import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { AdministratorsOnly, type AuthenticatedUser, CurrentUser, OpenToTokens } from '../platform/http/access.js';
import { Answers, ApiRoute } from '../platform/http/openapi.js';
import { AfterNames, Limit, LIMITS, NamePageQuery } from '../platform/http/page.dto.js';
import {
  EffectivePageResponse,
  ExplanationResponse,
  nodeOfCursor,
  toEffectivePage,
  toWhoPage,
  WhoPageResponse,
} from './access.response.js';
import { misplacedProblem, NodeNamesQuery, nodeOfQuery, type NodeQuery } from './resource.dto.js';
import { AccessService } from './access.service.js';
import { explanationForm } from './domain/explanation-form.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Compressed } from '../platform/http/compression.js';
import { DraftDto, DraftPreviewResponse, DraftQuery, toDraftPreview, toDraftRequest } from './drafts.dto.js';
import { DraftsService } from './drafts.service.js';
import { privilegesProblem } from '../trino-rules/model/resource.js';
import { IsIn, IsOptional } from 'class-validator';
import { FieldRule } from '../platform/http/validation.js';
import type { HolderQuestion } from '../trino-rules/answers/holders.js';
import { misplacedField, type NamedNode } from '../trino-rules/model/node.js';
import type { Principal } from '../trino-rules/model/principal.js';
import { type Privilege, PRIVILEGE_TERMS, PRIVILEGES } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';
import {
  parsePolicyPrincipal,
  parsePrincipal,
  POLICY_PRINCIPAL_PARAMETER,
  policyPrincipalParameterProblem,
  PRINCIPAL_PARAMETER,
  principalParameterProblem,
} from './principal.dto.js';

const PRIVILEGE = { message: `must be one of ${PRIVILEGES.join(', ')}` };

class EffectiveOfQuery extends NamePageQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

/** A node. With a privilege, its `as` or `queries` must name one user or one engine principal. */
abstract class PlaceQuery extends NodeNamesQuery {
  abstract privilege?: Privilege;

  @ApiPropertyOptional(onePrincipal('Acting as this one'))
  @FieldRule<PlaceQuery>((text, { privilege }) => ofOneProblem('as', text, privilege))
  as?: string;

  @ApiPropertyOptional(onePrincipal('The queries of this one'))
  @FieldRule<PlaceQuery>(
    (text, fields) => ofOneProblem('queries', text, fields.privilege) ?? misplacedProblem('queries', fields),
  )
  queries?: string;
}

class ExplainQuery extends PlaceQuery {
  @ApiProperty({ enum: PRIVILEGES })
  @IsIn(PRIVILEGES, PRIVILEGE)
  @FieldRule(placed)
  privilege!: Privilege;
}

class ExplainOfQuery extends ExplainQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

class WhoQuery extends PlaceQuery {
  @ApiPropertyOptional({ enum: PRIVILEGES, description: 'Default: any of them.' })
  @IsOptional()
  @IsIn(PRIVILEGES, PRIVILEGE)
  @FieldRule(placed)
  privilege?: Privilege;

  @Limit(LIMITS.names)
  limit = LIMITS.names.fallback;

  @AfterNames()
  after: string[] | null = null;
}

function principalOf({ principal }: { principal: string }): Principal {
  const parsed = parsePrincipal(principal);
  if (parsed === null) throw new Error('the query was not validated');
  return parsed;
}

function toQuestion(query: ExplainQuery, resource: NamedNode): Question;
function toQuestion(query: WhoQuery, resource: NamedNode): HolderQuestion;
function toQuestion({ column, privilege }: ExplainQuery | WhoQuery, resource: NamedNode): HolderQuestion {
  return privilege === undefined
    ? { about: 'anything', resource, column }
    : PRIVILEGE_TERMS[privilege].asks(resource, column);
}

/** The problem of a privilege that cannot be granted on the node of the query. */
function placed(privilege: unknown, query: NodeQuery): string | null {
  const asked = PRIVILEGES.find((one) => one === privilege);
  if (asked === undefined || misplacedField(query) !== null) return null;
  return privilegesProblem([asked], nodeOfQuery(query));
}

function onePrincipal(what: string) {
  const description = `${what}: \`user:12\` or \`engine:NAME\`; where no privilege is asked about, \`group:3\` and \`everyone\` too.`;
  return { ...POLICY_PRINCIPAL_PARAMETER, description };
}

function ofOneProblem(field: 'as' | 'queries', text: unknown, privilege: Privilege | undefined): string | null {
  if (text === undefined) return null;
  const problem = policyPrincipalParameterProblem(text);
  if (problem !== null || privilege === undefined || typeof text !== 'string') return problem;
  const { type } = parsePolicyPrincipal(text) ?? {};
  return type === 'group' || type === 'everyone' ? ONE[field] : null;
}

const ONE = {
  as: 'must be one user or one engine principal, where a privilege is asked about: user:ID or engine:NAME',
  queries:
    'must be those of one user or one engine principal, where a privilege is asked about: user:ID or engine:NAME',
};

/** Questions of users about their own access. */
@ApiTags('access')
@ApiBearerAuth('access-token')
@Controller('api/access')
export class AccessController {
  constructor(private readonly access: AccessService) {}

  @OpenToTokens('access.read')
  @ApiRoute('listOwnAccess', 'What the caller may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @Answers(EffectivePageResponse)
  async effective(
    @Query() { limit, after }: NamePageQuery,
    @CurrentUser() { id }: AuthenticatedUser,
  ): Promise<EffectivePageResponse> {
    const page = { limit: limit + 1, after: nodeOfCursor(after) };
    return toEffectivePage(await this.access.effectiveAccess({ type: 'user', id }, page), limit);
  }

  @OpenToTokens('access.read')
  @ApiRoute('explainOwnAccess', 'Why the caller may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @Answers(ExplanationResponse)
  async explain(@Query() query: ExplainQuery, @CurrentUser() { id }: AuthenticatedUser): Promise<ExplanationResponse> {
    const { as: _, queries, ...node } = nodeOfQuery(query);
    // The answer contains the name of the user whose id is asked about.
    if (queries !== undefined) {
      const message = 'is asked about by administrators alone';
      throw new Refused('validation_failed', { errors: [{ field: 'queries', message }] });
    }
    // `as` is left out: no account impersonates others, and none may learn who does.
    return explanationForm(await this.access.explain({ type: 'user', id }, toQuestion(query, node)), true);
  }
}

/** Administrators' questions about anybody's access. */
@ApiTags('access')
@AdministratorsOnly()
@Controller('api/admin/access')
export class AccessAdministrationController {
  constructor(
    private readonly access: AccessService,
    private readonly drafts: DraftsService,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listAccess', 'What a principal may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @Answers(EffectivePageResponse)
  async effective(@Query() query: EffectiveOfQuery): Promise<EffectivePageResponse> {
    const page = { limit: query.limit + 1, after: nodeOfCursor(query.after) };
    return toEffectivePage(await this.access.effectiveAccess(principalOf(query), page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('explainAccess', 'Why a principal may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @Answers(ExplanationResponse)
  async explain(@Query() query: ExplainOfQuery): Promise<ExplanationResponse> {
    const question = toQuestion(query, await this.access.withNames(nodeOfQuery(query)));
    return explanationForm(await this.access.explain(principalOf(query), question), false);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listAccessHolders', 'Who may do something on a resource', 'too_many_requests')
  @CountsWork()
  @Compressed()
  @Get('who')
  @Answers(WhoPageResponse)
  async who(@Query() query: WhoQuery): Promise<WhoPageResponse> {
    const page = { limit: query.limit + 1, after: query.after?.[0] ?? null };
    const question = toQuestion(query, await this.access.withNames(nodeOfQuery(query)));
    return toWhoPage(await this.access.countHolders(question, page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('previewDraft', 'What a draft of changes would change; records nothing', 'too_many_requests')
  @Post('preview')
  @BodyLimits(ADMINISTRATION)
  @Answers(DraftPreviewResponse)
  async preview(@Body() body: DraftDto, @Query() { limit, after }: DraftQuery): Promise<DraftPreviewResponse> {
    const [principal, ...names] = after ?? [];
    const cursor = principal === undefined ? null : { principal, resource: nodeOfCursor(names) ?? {} };
    return toDraftPreview(await this.drafts.preview(toDraftRequest(body), { limit, after: cursor }), limit);
  }
}
