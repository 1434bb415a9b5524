import { ApiProperty } from '@nestjs/swagger';
import { cursorOfNames } from '../kernel/page.js';
import { INTEGER, NULLABLE_TEXT, TEXTS } from '../platform/api-fields.js';
import type { AccessDifference, AccessPart } from '../trino-rules/answers/access-difference.js';
import type { NamedNode } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import { namesOfNode } from './access.dto.js';
import { AccessResponse, toAccess } from './access.response.js';
import type { DraftPreview } from './drafts.service.js';
import { PRINCIPAL_ANSWER } from './principal.dto.js';
import { RESOURCE_ANSWER } from './resource.dto.js';

/** What a principal gains at a node: privileges, and restrictions that end; or loses: privileges, and restrictions that begin. */
export class AccessDifferenceResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;
}

class DraftCheckResponse {
  @ApiProperty({ enum: ['name_taken', 'mask_conflict', 'rules_too_large', 'rules_unprovable'] }) code!: string;
  @ApiProperty() message!: string;
}

class DraftSizeResponse {
  @ApiProperty() fits!: boolean;
  @ApiProperty() message!: string;
}

export class DraftPreviewResponse {
  @ApiProperty({ type: [AccessDifferenceResponse] }) gains!: AccessDifferenceResponse[];
  @ApiProperty({ type: [AccessDifferenceResponse] }) loses!: AccessDifferenceResponse[];
  @ApiProperty({ ...INTEGER, description: 'Of all pages.' }) people_gaining!: number;
  @ApiProperty({ ...INTEGER, description: 'Of all pages.' }) people_losing!: number;

  @ApiProperty({
    ...TEXTS,
    description:
      'Where the draft gives or takes something on everything: the catalogs that are known; it holds in later ones too.',
  })
  catalogs!: string[];

  @ApiProperty({ type: [DraftCheckResponse], description: 'Why the write would be refused.' })
  checks!: DraftCheckResponse[];

  @ApiProperty({ type: DraftSizeResponse, nullable: true, description: 'Null: there is enough capacity.' })
  size!: DraftSizeResponse | null;

  @ApiProperty(NULLABLE_TEXT) next!: string | null;
}

export function toDraftPreview(preview: DraftPreview, limit: number): DraftPreviewResponse {
  const { differences, peopleGaining, peopleLosing, catalogs, checks, size } = preview;
  const page = differences.slice(0, limit);
  const last = page.at(-1);
  const side = (partOf: (difference: AccessDifference) => AccessPart | null): AccessDifferenceResponse[] =>
    page.flatMap((difference) => {
      const { principal, resource } = difference;
      const part = partOf(difference);
      return part === null ? [] : [{ principal, resource, ...toAccess(part) }];
    });
  return {
    gains: side(({ gained }) => gained),
    loses: side(({ lost }) => lost),
    people_gaining: peopleGaining,
    people_losing: peopleLosing,
    catalogs: [...catalogs],
    checks,
    size,
    next:
      differences.length > limit && last ? cursorOfNames([last.principal.name, ...namesOfNode(last.resource)]) : null,
  };
}
