import { ApiExtraModels, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { mapPage, pageOf } from '../kernel/page.js';
import {
  ApiField,
  ApiNullable,
  INTEGER,
  INTEGERS,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  ReferenceResponse,
  TEXTS,
} from '../platform/http/api-fields.js';
import type { Change } from '../trino-rules/answers/smallest-change.js';
import type { WayEnd } from '../trino-rules/answers/ways.js';
import type { Access, Origin } from '../trino-rules/model/intent.js';
import {
  kindOf,
  type NamedNode,
  type Node,
  NODE_KINDS,
  type NodeKind,
  nodeKey,
  nodeOf,
} from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import type { AppliesThrough } from '../trino-rules/model/principals.js';
import { type Privilege, PRIVILEGES } from '../trino-rules/model/privilege.js';
import {
  POLICY_KINDS,
  type SnapshotGrant,
  type SnapshotGroup,
  type SnapshotPolicy,
} from '../trino-rules/model/snapshot.js';
import type { HolderCount, NamedAccess } from './access.service.js';
import { parsePolicyPrincipal, PRINCIPAL_ANSWER } from './principal.dto.js';
import { POLICY_RESOURCE_ANSWER, RESOURCE_ANSWER } from './resource.dto.js';

class MaskedColumnResponse {
  @ApiProperty() column!: string;
  @ApiProperty({ description: 'SQL' }) expression!: string;
}

export class AccessResponse {
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
  @ApiField([String], 'SQL; a row must pass each of them.') row_filters!: string[];
  @ApiProperty({ type: [MaskedColumnResponse] }) masked_columns!: MaskedColumnResponse[];
  @ApiProperty(TEXTS) hidden_columns!: string[];
}

class ThroughGroupResponse {
  @ApiProperty() group!: ReferenceResponse;
}

export type ThroughResponse = 'directly' | 'everyone' | ThroughGroupResponse;

export const THROUGH_ANSWER = {
  oneOf: [{ type: 'string', enum: ['directly', 'everyone'] }, { $ref: '#/components/schemas/ThroughGroupResponse' }],
};

@ApiExtraModels(ThroughGroupResponse)
class OriginResponse {
  @ApiProperty(INTEGER) grant_id!: number;
  @ApiProperty(THROUGH_ANSWER) through!: ThroughResponse;

  @ApiProperty({
    type: Object,
    oneOf: [...RESOURCE_ANSWER.oneOf, { type: 'null' }],
    description: 'The node above that the grant names; null: the grant names this node.',
  })
  inherited_from!: Node | null;

  @ApiField(NULLABLE_MOMENT, 'When the grant expires.') expires_at!: string | null;
}

class EffectiveAccessResponse extends AccessResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;

  @ApiField([OriginResponse], 'Empty for service accounts, whose access follows from settings.')
  origins!: OriginResponse[];
}

export class EffectivePageResponse extends PageResponse(EffectiveAccessResponse) {}

class ViaResponse {
  @ApiProperty(INTEGER) grant_id!: number;
  @ApiNullable(ReferenceResponse, 'Null: the grant is not to a group.')
  group!: ReferenceResponse | null;
  @ApiProperty() is_for_everyone!: boolean;

  @ApiProperty({ enum: NODE_KINDS, description: 'The kind of node that the grant names.' }) level!: NodeKind;

  @ApiField(NULLABLE_MOMENT, 'When the grant expires.') expires_at!: string | null;
}

class InsideResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: Node;
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
}

const MAX_NODES = 20;

/** A principal with access to a node. `privileges` are those for the whole node: none if the principal has access only to nodes below it. */
class HolderResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiField([ViaResponse], 'Empty for service accounts, whose access follows from settings.') via!: ViaResponse[];

  @ApiField(
    [InsideResponse],
    `For a catalog or schema: nodes in it on which the principal may do more than on all of it, the first ${MAX_NODES}.`,
  )
  inside!: InsideResponse[];

  @ApiField(INTEGER, 'How many such nodes there are.') inside_in_all!: number;
}

class HolderWayResponse {
  @ApiNullable(ReferenceResponse, 'Null: the access is not by a group.') group!: ReferenceResponse | null;

  @ApiProperty(INTEGER) people!: number;
  @ApiProperty(INTEGER) engine_principals!: number;
}

class InsideTotalsResponse {
  @ApiField(INTEGER, 'Number of accounts.') people!: number;
  @ApiField(INTEGER, 'Number of engine principals, service accounts included.') engine_principals!: number;
}

class HolderTotalsResponse extends InsideTotalsResponse {
  @ApiProperty({ description: 'Holders of only a part of the node.' }) inside!: InsideTotalsResponse;
  @ApiField([HolderWayResponse], 'Most holders first; a holder counts in each of its ways.') ways!: HolderWayResponse[];
}

export class WhoPageResponse extends PageResponse(HolderResponse) {
  @ApiProperty({ description: 'Numbers of holders on all pages.' }) totals!: HolderTotalsResponse;
}

export function toAccessFields({ privileges, filters, hiddenColumns: hidden, masks }: Omit<Access, 'conflictColumns'>) {
  return {
    privileges,
    row_filters: filters,
    masked_columns: masks.map(({ column, expression }) => ({ column, expression })),
    hidden_columns: hidden,
  };
}

/** A page of effective access. @param entries the entries of the page, plus one if there is a next page */
export function toEffectivePage(entries: readonly NamedAccess[], limit: number): EffectivePageResponse {
  const page = pageOf(entries, limit, ({ resource }) => cursorOfNode(resource));
  return mapPage(page, ({ resource, access, origins }) => ({
    resource,
    ...toAccessFields(access),
    origins: origins.map(toOrigin),
  }));
}

export function toWhoPage(
  { page, people, enginePrincipals, onlyInsideCounts: insideTotals, ways }: HolderCount,
  limit: number,
): WhoPageResponse {
  const holders = pageOf(page, limit, ({ principal }) => [principal.name]);
  const holdersPage = mapPage(holders, ({ principal, access, origins, inside }) => ({
    principal,
    ...toAccessFields(access),
    via: origins.map(({ source, through }) => ({
      grant_id: source.id,
      group: typeof through === 'object' ? referenceTo(through.group) : null,
      is_for_everyone: through === 'everyone',
      level: kindOf(source.resource),
      expires_at: source.expiresAt?.toISOString() ?? null,
    })),
    inside: inside.slice(0, MAX_NODES).map(({ resource, privileges }) => ({ resource, privileges: [...privileges] })),
    inside_in_all: inside.length,
  }));
  return {
    ...holdersPage,
    totals: {
      people,
      engine_principals: enginePrincipals,
      inside: { people: insideTotals.people, engine_principals: insideTotals.enginePrincipals },
      ways: ways.map((way) => ({ group: way.group, people: way.people, engine_principals: way.enginePrincipals })),
    },
  };
}

function toOrigin({ source, through, inheritedFrom }: Origin<SnapshotGrant>): OriginResponse {
  return {
    grant_id: source.id,
    through: toThrough(through),
    inherited_from: inheritedFrom,
    expires_at: source.expiresAt?.toISOString() ?? null,
  };
}

export function toThrough(through: AppliesThrough): ThroughResponse {
  return typeof through === 'object' ? { group: referenceTo(through.group) } : through;
}

function referenceTo({ id, name }: SnapshotGroup): ReferenceResponse {
  return { id, name };
}

class RuleReferenceResponse {
  @ApiProperty() section!: string;
  @ApiField(INTEGER, 'The position in the section, from 0.') index!: number;
}

class DecidingRuleResponse extends RuleReferenceResponse {
  @ApiField(NULLABLE_TEXT, 'Null about oneself, because it names others.') text!: string | null;
}

class PublishedAnswerResponse {
  @ApiProperty(INTEGER) version!: number;

  @ApiProperty({
    description: 'The answer of the engine by this version. It can differ from `allowed` until the next publication.',
  })
  allowed!: boolean;

  @ApiProperty({
    description:
      'Whether both answers agree: on `allowed` and, for reading, on the row filters, masks and hidden columns.',
  })
  is_same!: boolean;
}

class ChangeStepResponse {
  @ApiProperty({ enum: ['grant', 'revoke', 'except', 'deny', 'hidden_column', 'activate'] }) kind!: Change['kind'];

  @ApiPropertyOptional({
    type: Object,
    ...PRINCIPAL_ANSWER,
    description: 'The principal of the grant, policy or exception, or the account to activate.',
  })
  principal?: NamedPrincipal;

  @ApiPropertyOptional({ ...POLICY_RESOURCE_ANSWER, description: 'The resource of the grant or policy.' })
  resource?: NamedNode & { column?: string };

  @ApiPropertyOptional({ enum: PRIVILEGES, isArray: true, description: 'The privileges of the grant or deny.' })
  privileges?: Privilege[];

  @ApiPropertyOptional({ ...INTEGER, description: 'The grant to revoke.' }) grant_id?: number;
  @ApiPropertyOptional({ ...INTEGER, description: 'The policy that gets an exception.' }) policy_id?: number;
}

class SmallestChangeResponse {
  @ApiProperty({ type: [ChangeStepResponse] }) steps!: ChangeStepResponse[];
}

class WayEndResponse {
  @ApiProperty({
    enum: ['inactive', 'not_a_member', 'no_grant', 'expired', 'denied'],
    description: 'The first condition on the way that is not met.',
  })
  kind!: WayEnd['kind'];

  @ApiPropertyOptional(MOMENT) expired_at?: string;
  @ApiPropertyOptional({ ...INTEGERS, description: 'Ids of the policies that take the access.' }) policies?: number[];
}

class WayResponse {
  @ApiNullable(ReferenceResponse, 'Null: the grant is not to a group.') group!: ReferenceResponse | null;
  @ApiProperty() is_for_everyone!: boolean;
  @ApiProperty({ ...INTEGER, nullable: true, description: 'The grant; null: there is none.' }) grant_id!: number | null;
  @ApiField(RESOURCE_ANSWER, 'The resource that the grant names, or would have to name.') node!: NamedNode;
  @ApiNullable(WayEndResponse) ends_at!: WayEndResponse | null;
}

class RestrictionResponse {
  @ApiProperty(INTEGER) policy_id!: number;
  @ApiProperty({ enum: POLICY_KINDS }) kind!: SnapshotPolicy['kind'];
  @ApiProperty({ ...POLICY_RESOURCE_ANSWER, description: 'The resource of the policy.' }) resource!: NamedNode & {
    column?: string;
  };
}

export class ExplanationResponse {
  @ApiProperty({ description: 'Whether the current grants allow it.' }) allowed!: boolean;
  @ApiNullable(DecidingRuleResponse, 'The deciding published rule; null: none.')
  rule!: DecidingRuleResponse | null;

  @ApiField([RuleReferenceResponse], 'Rules about this node that the engine tries before that one.')
  considered!: RuleReferenceResponse[];

  @ApiField(INTEGERS, 'Ids of the grants that give the privilege here.') grants!: number[];
  @ApiField(INTEGERS, 'Ids of the policies that deny the access or restrict reading.') policies!: number[];

  @ApiField(
    [RestrictionResponse],
    'The same policies with kind and resource. For a companion such as `orders$files` they name its table or a node above.',
  )
  restrictions!: RestrictionResponse[];

  @ApiField(
    [WayResponse],
    'The ways by which the principal has the access or, if it is refused, could have it, and where each ends; the shortest hundred. In answers about oneself without groups of others.',
  )
  ways!: WayResponse[];

  @ApiProperty(INTEGER) ways_in_all!: number;

  @ApiNullable(SmallestChangeResponse, 'The least change that reverses the answer; null: no grant or policy does.')
  smallest_change!: SmallestChangeResponse | null;

  @ApiNullable(PublishedAnswerResponse, 'Null: nothing is published, or the question is about a group.')
  published!: PublishedAnswerResponse | null;
}

/** The cursor of a list that is ordered by nodes: the names of the last node of a page. */
export function cursorOfNode(node: Node): string[] {
  return nodeKey(node).split('\0');
}

export function nodeOfCursor(names: readonly string[] | null): Node | null {
  if (names === null) return null;
  const [catalog = '', schema, table, routine] = names;
  if (catalog !== '') return nodeOf(routine === undefined ? { catalog, schema, table } : { catalog, schema, routine });
  if (schema === 'engine') return { engine: true };
  const namedPrincipal = parsePolicyPrincipal(table ?? '');
  if (namedPrincipal === null) return {};
  return schema === 'queries' ? { queries: namedPrincipal } : schema === 'as' ? { as: namedPrincipal } : {};
}
