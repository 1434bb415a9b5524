import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { AdministratorsOnly, type AuthenticatedUser, CurrentUser, OpenToTokens } from '../platform/http/access.js';
import { Answers, ApiRoute } from '../platform/http/openapi.js';
import { AfterNames, Limit, PAGE_LIMITS, NamePageQuery } from '../platform/http/page.dto.js';
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
import { privilegeMessage } from './domain/grant.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Compressed } from '../platform/http/compression.js';
import { DraftDto, DraftPreviewResponse, DraftQuery, toDraftPreview, toDraftRequest } from './drafts.dto.js';
import { DraftsService } from './drafts.service.js';
import { toGrantResponse, UnusedGrantPage, UnusedGrantQuery } from './grants.dto.js';
import { GrantUseStore } from './grant-use.store.js';
import { Clock } from '../kernel/clock.js';
import { mapPage } from '../kernel/page.js';
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

class PrincipalAccessQuery extends NamePageQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

/** The query string of a question about a node. If it contains a privilege, `as` and `queries` must name one user or one engine principal. */
abstract class NodeQuestionQuery extends NodeNamesQuery {
  abstract privilege?: Privilege;

  @ApiPropertyOptional(singlePrincipalParameter('The right to act as this principal'))
  @FieldRule<NodeQuestionQuery>((text, { privilege }) => onePrincipalProblem('as', text, privilege))
  as?: string;

  @ApiPropertyOptional(singlePrincipalParameter('The right to the queries of this principal'))
  @FieldRule<NodeQuestionQuery>(
    (text, fields) => onePrincipalProblem('queries', text, fields.privilege) ?? misplacedProblem('queries', fields),
  )
  queries?: string;
}

class ExplainQuery extends NodeQuestionQuery {
  @ApiProperty({ enum: PRIVILEGES })
  @IsIn(PRIVILEGES, { message: privilegeMessage })
  @FieldRule(privilegeProblem)
  privilege!: Privilege;
}

class PrincipalExplainQuery extends ExplainQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

class HoldersQuery extends NodeQuestionQuery {
  @ApiPropertyOptional({ enum: PRIVILEGES, description: 'Default: any of them.' })
  @IsOptional()
  @IsIn(PRIVILEGES, { message: privilegeMessage })
  @FieldRule(privilegeProblem)
  privilege?: Privilege;

  @Limit(PAGE_LIMITS.names)
  limit = PAGE_LIMITS.names.defaultLimit;

  @AfterNames()
  after: string[] | null = null;
}

function principalOf({ principal }: { principal: string }): Principal {
  const parsedPrincipal = parsePrincipal(principal);
  if (parsedPrincipal === null) throw new Error('the query was not validated');
  return parsedPrincipal;
}

function toQuestion(query: ExplainQuery, resource: NamedNode): Question;
function toQuestion(query: HoldersQuery, resource: NamedNode): HolderQuestion;
function toQuestion({ column, privilege }: ExplainQuery | HoldersQuery, resource: NamedNode): HolderQuestion {
  return privilege === undefined
    ? { about: 'anything', resource, column }
    : PRIVILEGE_TERMS[privilege].questionAt(resource, column);
}

/** Why a privilege cannot be granted on the node of the query. Null if it can be granted, or if another check reports the query's error. */
function privilegeProblem(privilege: unknown, query: NodeQuery): string | null {
  const knownPrivilege = PRIVILEGES.find((one) => one === privilege);
  if (knownPrivilege === undefined || misplacedField(query) !== null) return null;
  return privilegesProblem([knownPrivilege], nodeOfQuery(query));
}

function singlePrincipalParameter(meaning: string) {
  const description = `${meaning}: \`user:12\` or \`engine:NAME\`; where no privilege is asked about, \`group:3\` and \`everyone\` too.`;
  return { ...POLICY_PRINCIPAL_PARAMETER, description };
}

function onePrincipalProblem(field: 'as' | 'queries', text: unknown, privilege: Privilege | undefined): string | null {
  if (text === undefined) return null;
  const problem = policyPrincipalParameterProblem(text);
  if (problem !== null || privilege === undefined || typeof text !== 'string') return problem;
  const { type } = parsePolicyPrincipal(text) ?? {};
  return type === 'group' || type === 'everyone' ? SINGLE_PRINCIPAL_MESSAGES[field] : null;
}

const SINGLE_PRINCIPAL_MESSAGES = {
  as: 'must be one user or one engine principal, where a privilege is asked about: user:ID or engine:NAME',
  queries:
    'must be those of one user or one engine principal, where a privilege is asked about: user:ID or engine:NAME',
};

@ApiTags('access')
@ApiBearerAuth('access-token')
@Controller('api/access')
export class AccessController {
  constructor(private readonly accessService: AccessService) {}

  @OpenToTokens('access.read')
  @ApiRoute('listOwnAccess', 'What the caller may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @Answers(EffectivePageResponse)
  async effectiveAccess(
    @Query() { limit, after }: NamePageQuery,
    @CurrentUser() { id }: AuthenticatedUser,
  ): Promise<EffectivePageResponse> {
    const page = { limit: limit + 1, after: nodeOfCursor(after) };
    return toEffectivePage(await this.accessService.effectiveAccess({ type: 'user', id }, page), limit);
  }

  @OpenToTokens('access.read')
  @ApiRoute('explainOwnAccess', 'Why the caller may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @Answers(ExplanationResponse)
  async explain(@Query() query: ExplainQuery, @CurrentUser() { id }: AuthenticatedUser): Promise<ExplanationResponse> {
    const { as: _, queries, ...node } = nodeOfQuery(query);
    // The answer would name the user in `queries`, and only administrators may look up a user's name by id.
    if (queries !== undefined) {
      const message = 'is asked about by administrators alone';
      throw new Refused('validation_failed', { errors: [{ field: 'queries', message }] });
    }
    // `as` is left out, because accounts impersonate nobody, and must not learn which principals impersonate others.
    return explanationForm(await this.accessService.explain({ type: 'user', id }, toQuestion(query, node)), true);
  }
}

@ApiTags('access')
@AdministratorsOnly()
@Controller('api/admin/access')
export class AccessAdministrationController {
  constructor(
    private readonly access: AccessService,
    private readonly drafts: DraftsService,
    private readonly grantUses: GrantUseStore,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listAccess', 'What a principal may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @Answers(EffectivePageResponse)
  async effectiveAccess(@Query() query: PrincipalAccessQuery): Promise<EffectivePageResponse> {
    const page = { limit: query.limit + 1, after: nodeOfCursor(query.after) };
    return toEffectivePage(await this.access.effectiveAccess(principalOf(query), page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('explainAccess', 'Why a principal may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @Answers(ExplanationResponse)
  async explain(@Query() query: PrincipalExplainQuery): Promise<ExplanationResponse> {
    const question = toQuestion(query, await this.access.withNames(nodeOfQuery(query)));
    return explanationForm(await this.access.explain(principalOf(query), question), false);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listAccessHolders', 'Who may do something on a resource', 'too_many_requests')
  @CountsWork()
  @Compressed()
  @Get('who')
  @Answers(WhoPageResponse)
  async countHolders(@Query() query: HoldersQuery): Promise<WhoPageResponse> {
    const page = { limit: query.limit + 1, after: query.after?.[0] ?? null };
    const question = toQuestion(query, await this.access.withNames(nodeOfQuery(query)));
    return toWhoPage(await this.access.countHolders(question, page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listUnusedGrants', 'Live grants that decided nothing, by the decision logs of OPA', 'decision_logs_off')
  @Get('unused')
  @Answers(UnusedGrantPage)
  async unusedGrants(@Query() { days, ...page }: UnusedGrantQuery): Promise<UnusedGrantPage> {
    const unusedPage = await this.grantUses.findUnused(days, page);
    const unusedSince = await this.grantUses.unusedSince(unusedPage.items);
    const now = this.clock.now();
    return mapPage(unusedPage, (grant) => ({
      grant: toGrantResponse(grant, now, [], unusedSince.get(grant.id)),
      created_at: grant.grantedAt.toISOString(),
      last_used_on: grant.lastUsedOn,
    }));
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
