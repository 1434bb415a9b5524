import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { INTEGER, INTEGERS, MOMENT, NULLABLE_TEXT, ReferenceResponse } from '../platform/http/api-fields.js';
import type { Change } from '../trino-rules/answers/smallest-change.js';
import type { WayEnd } from '../trino-rules/answers/ways.js';
import type { NamedNode } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import { PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import { POLICY_KINDS, type SnapshotPolicy } from '../trino-rules/model/snapshot.js';
import { PRINCIPAL_ANSWER } from './principal.dto.js';
import { POLICY_RESOURCE_ANSWER, RESOURCE_ANSWER } from './resource.dto.js';

class RuleReferenceResponse {
  @ApiProperty() section!: string;
  @ApiProperty({ ...INTEGER, description: 'From 0.' }) index!: number;
}

class DecidingRuleResponse extends RuleReferenceResponse {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Null about oneself: it names others.' }) text!: string | null;
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

export class ChangeStepResponse {
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
  @ApiProperty({ type: ReferenceResponse, nullable: true, description: 'Null: directly, or as one of everyone.' })
  group!: ReferenceResponse | null;

  @ApiProperty() is_for_everyone!: boolean;
  @ApiProperty({ ...INTEGER, nullable: true, description: 'Null: there is none.' }) grant_id!: number | null;
  @ApiProperty({ ...RESOURCE_ANSWER, description: 'That the grant names, or would.' }) node!: NamedNode;
  @ApiProperty({ type: WayEndResponse, nullable: true }) ends_at!: WayEndResponse | null;
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

  @ApiProperty({
    type: DecidingRuleResponse,
    nullable: true,
    description: 'Of the published rules; null: none matches.',
  })
  rule!: DecidingRuleResponse | null;

  @ApiProperty({ type: [RuleReferenceResponse], description: 'Rules about this node that the engine tries before.' })
  considered!: RuleReferenceResponse[];

  @ApiProperty({ ...INTEGERS, description: 'Ids of the grants that carry the privilege here.' })
  grants!: number[];

  @ApiProperty({ ...INTEGERS, description: 'Ids of the policies that take it or restrict what is read.' })
  policies!: number[];

  @ApiProperty({
    type: [RestrictionResponse],
    description:
      'The same with what they are; of a companion such as `orders$files` they name its table or what is above.',
  })
  restrictions!: RestrictionResponse[];

  @ApiProperty({
    type: [WayResponse],
    description:
      'Shortest first, the first hundred: the ways that give it or, where it is refused, the ways that could, and where each ends. About oneself without groups that one is not in.',
  })
  ways!: WayResponse[];

  @ApiProperty(INTEGER) ways_in_all!: number;

  @ApiProperty({
    type: SmallestChangeResponse,
    nullable: true,
    description: 'Null: no grant or policy turns the answer round.',
  })
  smallest_change!: SmallestChangeResponse | null;

  @ApiProperty({
    type: PublishedAnswerResponse,
    nullable: true,
    description: 'Null: nothing is published, or about a group.',
  })
  published!: PublishedAnswerResponse | null;
}
