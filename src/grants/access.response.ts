import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { cursorOfNames } from '../kernel/page.js';
import { INTEGER, NULLABLE_MOMENT, PageResponse, TEXTS, ReferenceResponse } from '../platform/http/api-fields.js';
import type { Access, Origin } from '../trino-rules/model/intent.js';
import { kindOf, type NamedNode, NODE_KINDS, type Node, type NodeKind } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import type { Through } from '../trino-rules/model/principals.js';
import { PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import type { SnapshotGrant, SnapshotGroup } from '../trino-rules/model/snapshot.js';
import { namesOfNode } from './access.dto.js';
import type { NamedAccess } from './access.service.js';
import type { CountedHolders } from './domain/holder-count.js';
import { PRINCIPAL_ANSWER } from './principal.dto.js';
import { RESOURCE_ANSWER } from './resource.dto.js';

export class MaskedColumnResponse {
  @ApiProperty() column!: string;
  @ApiProperty({ description: 'SQL' }) expression!: string;
}

/** Privileges at a node, and what restricts reading there. */
export class AccessResponse {
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];

  @ApiProperty({ type: [String], description: 'SQL; a row must pass each of them.' })
  row_filters!: string[];

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
export class OriginResponse {
  @ApiProperty(INTEGER) grant_id!: number;
  @ApiProperty(THROUGH_ANSWER) through!: ThroughResponse;

  @ApiProperty({
    type: Object,
    oneOf: [...RESOURCE_ANSWER.oneOf, { type: 'null' }],
    description: 'The node above that the grant names; null: this one.',
  })
  inherited_from!: Node | null;

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Of the grant.' }) expires_at!: string | null;
}

export class EffectiveAccessResponse extends AccessResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;

  @ApiProperty({
    type: [OriginResponse],
    description: 'Empty for service accounts, whose access follows from settings.',
  })
  origins!: OriginResponse[];
}

export class EffectivePageResponse extends PageResponse(EffectiveAccessResponse) {}

export class ViaResponse {
  @ApiProperty(INTEGER) grant_id!: number;

  @ApiProperty({ type: ReferenceResponse, nullable: true, description: 'Null: directly, or as one of everyone.' })
  group!: ReferenceResponse | null;

  @ApiProperty() is_for_everyone!: boolean;

  @ApiProperty({ enum: NODE_KINDS, description: 'Of the node that the grant names.' })
  level!: NodeKind;

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Of the grant.' }) expires_at!: string | null;
}

class InsideResponse {
  @ApiProperty(RESOURCE_ANSWER) resource!: Node;
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
}

/** Nodes that the answer names of what one holder has inside. */
const MOST_INSIDE = 20;

/** `privileges` are those with all of the node; of a catalog or schema, none where there is only something inside. */
export class HolderResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;

  @ApiProperty({ type: [ViaResponse], description: 'Empty for service accounts, whose access follows from settings.' })
  via!: ViaResponse[];

  @ApiProperty({
    type: [InsideResponse],
    description: `Of a catalog or schema: nodes in it with which the principal may do more than with all of it, the first ${MOST_INSIDE}.`,
  })
  inside!: InsideResponse[];

  @ApiProperty({ ...INTEGER, description: 'Of all such nodes.' }) inside_in_all!: number;
}

class HolderWayResponse {
  @ApiProperty({
    type: ReferenceResponse,
    nullable: true,
    description: 'Null: directly, as one of everyone, or by the settings.',
  })
  group!: ReferenceResponse | null;

  @ApiProperty(INTEGER) people!: number;
  @ApiProperty(INTEGER) engine_principals!: number;
}

class InsideTotalsResponse {
  @ApiProperty({ ...INTEGER, description: 'Accounts.' }) people!: number;
  @ApiProperty({ ...INTEGER, description: 'Service accounts among them.' }) engine_principals!: number;
}

/** Of those who have all of the node. */
class HolderTotalsResponse extends InsideTotalsResponse {
  @ApiProperty({ description: 'Those who have not all of it, and something in it.' }) inside!: InsideTotalsResponse;

  @ApiProperty({ type: [HolderWayResponse], description: 'Most holders first; a holder counts in each of its ways.' })
  ways!: HolderWayResponse[];
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
  const items = entries.slice(0, limit).map(({ resource, access, origins }) => ({
    resource,
    ...toAccess(access),
    origins: origins.map(toOrigin),
  }));
  const last = items.at(-1);
  return { items, next: entries.length > limit && last ? cursorOfNames(namesOfNode(last.resource)) : null };
}

export function toWhoPage(
  { page, people, enginePrincipals, inside: within, ways }: CountedHolders,
  limit: number,
): WhoPageResponse {
  const items = page.slice(0, limit).map(({ principal, access, origins, inside }) => ({
    principal,
    ...toAccess(access),
    via: origins.map(({ source, through }) => ({
      grant_id: source.id,
      group: groupOf(through),
      is_for_everyone: through === 'everyone',
      level: kindOf(source.resource),
      expires_at: momentOf(source.expiresAt),
    })),
    inside: inside.slice(0, MOST_INSIDE).map(({ resource, privileges }) => ({ resource, privileges: [...privileges] })),
    inside_in_all: inside.length,
  }));
  const last = items.at(-1);
  return {
    items,
    totals: {
      people,
      engine_principals: enginePrincipals,
      inside: { people: within.people, engine_principals: within.enginePrincipals },
      ways: ways.map((way) => ({ group: way.group, people: way.people, engine_principals: way.enginePrincipals })),
    },
    next: page.length > limit && last ? cursorOfNames([last.principal.name]) : null,
  };
}

function toOrigin({ source, through, inheritedFrom }: Origin<SnapshotGrant>): OriginResponse {
  return {
    grant_id: source.id,
    through: toThrough(through),
    inherited_from: inheritedFrom,
    expires_at: momentOf(source.expiresAt),
  };
}

export function toThrough(through: Through): ThroughResponse {
  return typeof through === 'object' ? { group: referenceTo(through.group) } : through;
}

function momentOf(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

function groupOf(through: Origin<SnapshotGrant>['through']): ReferenceResponse | null {
  return typeof through === 'object' ? referenceTo(through.group) : null;
}

function referenceTo({ id, name }: SnapshotGroup): ReferenceResponse {
  return { id, name };
}
