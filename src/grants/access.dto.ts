import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { privilegesProblem } from '../trino-rules/model/resource.js';
import { IsIn, IsOptional } from 'class-validator';
import { AfterNames, Limit, LIMITS, NamePageQuery } from '../platform/http/page.dto.js';
import { FieldRule } from '../platform/http/validation.js';
import type { HolderQuestion } from '../trino-rules/answers/holders.js';
import { misplacedField, nodeKey, nodeOf, type NamedNode, type Node } from '../trino-rules/model/node.js';
import type { Principal } from '../trino-rules/model/principal.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';
import {
  parsePrincipal,
  parsePolicyPrincipal,
  POLICY_PRINCIPAL_PARAMETER,
  policyPrincipalParameterProblem,
  PRINCIPAL_PARAMETER,
  principalParameterProblem,
} from './principal.dto.js';
import { misplaced, NodeNamesQuery, type NodeQuery, nodeOfQuery } from './resource.dto.js';

const PRIVILEGE = { message: `must be one of ${PRIVILEGES.join(', ')}` };

export class EffectiveOfQuery extends NamePageQuery {
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
    (text, fields) => ofOneProblem('queries', text, fields.privilege) ?? misplaced('queries', fields),
  )
  queries?: string;
}

export class ExplainQuery extends PlaceQuery {
  @ApiProperty({ enum: PRIVILEGES })
  @IsIn(PRIVILEGES, PRIVILEGE)
  @FieldRule(placed)
  privilege!: Privilege;
}

export class ExplainOfQuery extends ExplainQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

export class WhoQuery extends PlaceQuery {
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

export function principalOf({ principal }: { principal: string }): Principal {
  const parsed = parsePrincipal(principal);
  if (parsed === null) throw new Error('the query was not validated');
  return parsed;
}

export function toQuestion(query: ExplainQuery, resource: NamedNode): Question;
export function toQuestion(query: WhoQuery, resource: NamedNode): HolderQuestion;
export function toQuestion({ column, privilege }: ExplainQuery | WhoQuery, resource: NamedNode): HolderQuestion {
  return privilege === undefined
    ? { about: 'anything', resource, column }
    : PRIVILEGE_TERMS[privilege].asks(resource, column);
}

/** A node in the cursor of a list that is ordered by nodes. */
export function namesOfNode(node: Node): string[] {
  return nodeKey(node).split('\0');
}

/** The node of a cursor; null for the first page. */
export function nodeOfCursor(names: readonly string[] | null): Node | null {
  if (names === null) return null;
  const [catalog = '', schema, table, routine] = names;
  if (catalog !== '') return nodeOf(routine === undefined ? { catalog, schema, table } : { catalog, schema, routine });
  if (schema === 'engine') return { engine: true };
  const named = parsePolicyPrincipal(table ?? '');
  if (named === null) return {};
  return schema === 'queries' ? { queries: named } : schema === 'as' ? { as: named } : {};
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
