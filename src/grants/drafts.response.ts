import { ApiProperty } from '@nestjs/swagger';
import { cursorOfNames } from '../kernel/page.js';
import { INTEGER, NULLABLE_TEXT, TEXTS } from '../platform/http/api-fields.js';
import type { AccessDifference, AccessPart } from '../trino-rules/answers/access-difference.js';
import { compareNames, type NamedNode } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import { namesOfNode } from './access.dto.js';
import { AccessResponse, THROUGH_ANSWER, type ThroughResponse, toAccess, toThrough } from './access.response.js';
import type { DraftPreview } from './drafts.service.js';
import { PRINCIPAL_ANSWER } from './principal.dto.js';
import { RESOURCE_ANSWER } from './resource.dto.js';

/** What a principal gains at a node: privileges, and restrictions that end; or loses: privileges, and restrictions that begin. */
export class AccessDifferenceResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;
}

class UnchangedResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiProperty({ ...THROUGH_ANSWER, description: 'How it has it without the draft.' }) through!: ThroughResponse;
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

  @ApiProperty({
    type: [UnchangedResponse],
    description: 'Whom the draft gives something, and who have all of it already; in the same pages.',
  })
  unchanged!: UnchangedResponse[];

  @ApiProperty({ ...INTEGER, description: 'Of all pages, engine principals included.' }) people_gaining!: number;
  @ApiProperty({ ...INTEGER, description: 'Of all pages.' }) people_losing!: number;
  @ApiProperty({ ...INTEGER, description: 'Of all pages.' }) people_unchanged!: number;

  @ApiProperty({
    ...TEXTS,
    description:
      'Where the draft gives or takes something on everything: the catalogs that are known; it holds in later ones too.',
  })
  catalogs!: string[];

  @ApiProperty({ type: [DraftCheckResponse], description: 'Why the write would be refused.' })
  checks!: DraftCheckResponse[];

  @ApiProperty({ ...TEXTS, description: 'What the write would be answered with about expressions of policies.' })
  warnings!: string[];

  @ApiProperty({ type: DraftSizeResponse, nullable: true, description: 'Null: there is enough capacity.' })
  size!: DraftSizeResponse | null;

  @ApiProperty(NULLABLE_TEXT) next!: string | null;
}

export function toDraftPreview(preview: DraftPreview, limit: number): DraftPreviewResponse {
  const { differences, peopleGaining, peopleLosing, peopleUnchanged, catalogs, checks, warnings, size } = preview;
  const entries = [...differences, ...preview.unchanged].sort((a, b) =>
    compareNames(a.principal.name, b.principal.name),
  );
  const page = new Set(entries.slice(0, limit));
  const last = entries[limit - 1];
  const side = (partOf: (difference: AccessDifference) => AccessPart | null): AccessDifferenceResponse[] =>
    differences.flatMap((difference) => {
      const { principal, resource } = difference;
      const part = page.has(difference) ? partOf(difference) : null;
      return part === null ? [] : [{ principal, resource, ...toAccess(part) }];
    });
  const namesOf = (entry: (typeof entries)[number]): string[] => [
    entry.principal.name,
    ...('resource' in entry ? namesOfNode(entry.resource) : []),
  ];
  return {
    gains: side(({ gained }) => gained),
    loses: side(({ lost }) => lost),
    unchanged: preview.unchanged.flatMap((entry) =>
      page.has(entry) ? [{ principal: entry.principal, through: toThrough(entry.through) }] : [],
    ),
    people_gaining: peopleGaining,
    people_losing: peopleLosing,
    people_unchanged: peopleUnchanged,
    catalogs: [...catalogs],
    checks,
    warnings,
    size,
    next: entries.length > limit && last ? cursorOfNames(namesOf(last)) : null,
  };
}
