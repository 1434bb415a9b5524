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
import type { Through } from '../trino-rules/model/principals.js';
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
    description: 'The node above that the grant names; null: this one.',
  })
  inherited_from!: Node | null;

  @ApiField(NULLABLE_MOMENT, 'Of the grant.') expires_at!: string | null;
}

class EffectiveAccessResponse extends AccessResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;

  @ApiField([OriginResponse], 'Empty for service accounts, whose access follows from settings.')
  origins!: OriginResponse[];
}

export class EffectivePageResponse extends PageResponse(EffectiveAccessResponse) {}

class ViaResponse {
  @ApiProperty(INTEGER) grant_id!: number;
  @ApiNullable(ReferenceResponse, 'Null: directly, or as one of everyone.') group!: ReferenceResponse | null;
  @ApiProperty() is_for_everyone!: boolean;

  @ApiProperty({ enum: NODE_KINDS, description: 'Of the node that the grant names.' })
  level!: NodeKind;

  @ApiField(NULLABLE_MOMENT, 'Of the grant.') expires_at!: string | null;
}

class InsideResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: Node;
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
}

/** The most nodes inside the asked one that the answer names for one holder. */
const MOST_INSIDE = 20;

/** `privileges` hold for the whole node. They are empty for a principal with access only to something inside a catalog or schema. */
class HolderResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiField([ViaResponse], 'Empty for service accounts, whose access follows from settings.') via!: ViaResponse[];

  @ApiField(
    [InsideResponse],
    `Of a catalog or schema: nodes in it with which the principal may do more than with all of it, the first ${MOST_INSIDE}.`,
  )
  inside!: InsideResponse[];

  @ApiField(INTEGER, 'Of all such nodes.') inside_in_all!: number;
}

class HolderWayResponse {
  @ApiNullable(ReferenceResponse, 'Null: directly, as one of everyone, or by the settings.')
  group!: ReferenceResponse | null;

  @ApiProperty(INTEGER) people!: number;
  @ApiProperty(INTEGER) engine_principals!: number;
}

class InsideTotalsResponse {
  @ApiField(INTEGER, 'Accounts.') people!: number;
  @ApiField(INTEGER, 'Service accounts among them.') engine_principals!: number;
}

/** Counts of holders of the whole node. */
class HolderTotalsResponse extends InsideTotalsResponse {
  @ApiProperty({ description: 'Those who have not all of it, and something in it.' }) inside!: InsideTotalsResponse;
  @ApiField([HolderWayResponse], 'Most holders first; a holder counts in each of its ways.') ways!: HolderWayResponse[];
}

export class WhoPageResponse extends PageResponse(HolderResponse) {
  @ApiProperty({ description: 'Of all pages.' }) totals!: HolderTotalsResponse;
}

export function toAccess({ privileges, filters, hidden, masks }: Omit<Access, 'conflicts'>) {
  return {
    privileges,
    row_filters: filters,
    masked_columns: masks.map(({ column, expression }) => ({ column, expression })),
    hidden_columns: hidden,
  };
}

/** @param entries one more than the page holds, where there is a next page */
export function toEffectivePage(entries: readonly NamedAccess[], limit: number): EffectivePageResponse {
  const page = pageOf(entries, limit, ({ resource }) => namesOfNode(resource));
  return mapPage(page, ({ resource, access, origins }) => ({
    resource,
    ...toAccess(access),
    origins: origins.map(toOrigin),
  }));
}

export function toWhoPage(
  { page, people, enginePrincipals, inside: within, ways }: HolderCount,
  limit: number,
): WhoPageResponse {
  const holders = pageOf(page, limit, ({ principal }) => [principal.name]);
  const shown = mapPage(holders, ({ principal, access, origins, inside }) => ({
    principal,
    ...toAccess(access),
    via: origins.map(({ source, through }) => ({
      grant_id: source.id,
      group: typeof through === 'object' ? referenceTo(through.group) : null,
      is_for_everyone: through === 'everyone',
      level: kindOf(source.resource),
      expires_at: source.expiresAt?.toISOString() ?? null,
    })),
    inside: inside.slice(0, MOST_INSIDE).map(({ resource, privileges }) => ({ resource, privileges: [...privileges] })),
    inside_in_all: inside.length,
  }));
  return {
    ...shown,
    totals: {
      people,
      engine_principals: enginePrincipals,
      inside: { people: within.people, engine_principals: within.enginePrincipals },
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

export function toThrough(through: Through): ThroughResponse {
  return typeof through === 'object' ? { group: referenceTo(through.group) } : through;
}

function referenceTo({ id, name }: SnapshotGroup): ReferenceResponse {
  return { id, name };
}

class RuleReferenceResponse {
  @ApiProperty() section!: string;
  @ApiField(INTEGER, 'From 0.') index!: number;
}

class DecidingRuleResponse extends RuleReferenceResponse {
  @ApiField(NULLABLE_TEXT, 'Null about oneself: it names others.') text!: string | null;
}

class PublishedAnswerResponse {
  @ApiProperty(INTEGER) version!: number;

  @ApiProperty({
    description: 'What the engine answers by this version; another than `allowed` until the next publication.',
  })
  allowed!: boolean;

  @ApiProperty({
    description:
      'Whether that is the whole answer: `allowed`, and where it may read, the same row filters, masks and hidden columns.',
  })
  is_same!: boolean;
}

class ChangeStepResponse {
  @ApiProperty({ enum: ['grant', 'revoke', 'except', 'deny', 'hidden_column', 'activate'] }) kind!: Change['kind'];

  @ApiPropertyOptional({
    type: Object,
    ...PRINCIPAL_ANSWER,
    description: 'Of a grant, an exception, a policy or an activation.',
  })
  principal?: NamedPrincipal;

  @ApiPropertyOptional({ ...POLICY_RESOURCE_ANSWER, description: 'Of a grant or a policy.' })
  resource?: NamedNode & { column?: string };

  @ApiPropertyOptional({ enum: PRIVILEGES, isArray: true, description: 'Of a grant or a deny.' })
  privileges?: Privilege[];

  @ApiPropertyOptional({ ...INTEGER, description: 'Of the grant to revoke.' }) grant_id?: number;
  @ApiPropertyOptional({ ...INTEGER, description: 'Of the policy that gets an exception.' }) policy_id?: number;
}

class SmallestChangeResponse {
  @ApiProperty({ type: [ChangeStepResponse] }) steps!: ChangeStepResponse[];
}

class WayEndResponse {
  @ApiProperty({
    enum: ['inactive', 'not_a_member', 'no_grant', 'expired', 'denied'],
    description: 'The first station of the way that is missing.',
  })
  kind!: WayEnd['kind'];

  @ApiPropertyOptional(MOMENT) expired_at?: string;
  @ApiPropertyOptional({ ...INTEGERS, description: 'Ids of those that take it.' }) policies?: number[];
}

class WayResponse {
  @ApiNullable(ReferenceResponse, 'Null: directly, or as one of everyone.') group!: ReferenceResponse | null;
  @ApiProperty() is_for_everyone!: boolean;
  @ApiProperty({ ...INTEGER, nullable: true, description: 'Null: there is none.' }) grant_id!: number | null;
  @ApiField(RESOURCE_ANSWER, 'That the grant names, or would.') node!: NamedNode;
  @ApiNullable(WayEndResponse) ends_at!: WayEndResponse | null;
}

class RestrictionResponse {
  @ApiProperty(INTEGER) policy_id!: number;
  @ApiProperty({ enum: POLICY_KINDS }) kind!: SnapshotPolicy['kind'];
  @ApiProperty({ ...POLICY_RESOURCE_ANSWER, description: 'That the policy names.' }) resource!: NamedNode & {
    column?: string;
  };
}

export class ExplanationResponse {
  @ApiProperty({ description: 'By the current grants.' }) allowed!: boolean;
  @ApiNullable(DecidingRuleResponse, 'Of the published rules; null: none matches.') rule!: DecidingRuleResponse | null;

  @ApiField([RuleReferenceResponse], 'Rules about this node that the engine tries before.')
  considered!: RuleReferenceResponse[];

  @ApiField(INTEGERS, 'Ids of the grants that carry the privilege here.') grants!: number[];
  @ApiField(INTEGERS, 'Ids of the policies that take it or restrict what is read.') policies!: number[];

  @ApiField(
    [RestrictionResponse],
    'The same with what they are; of a companion such as `orders$files` they name its table or what is above.',
  )
  restrictions!: RestrictionResponse[];

  @ApiField(
    [WayResponse],
    'Shortest first, the first hundred: the ways that give it or, where it is refused, the ways that could, and where each ends. About oneself without groups that one is not in.',
  )
  ways!: WayResponse[];

  @ApiProperty(INTEGER) ways_in_all!: number;

  @ApiNullable(SmallestChangeResponse, 'Null: no grant or policy turns the answer round.')
  smallest_change!: SmallestChangeResponse | null;

  @ApiNullable(PublishedAnswerResponse, 'Null: nothing is published, or about a group.')
  published!: PublishedAnswerResponse | null;
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
