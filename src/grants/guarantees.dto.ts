import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  INTEGER,
  INTEGERS,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  ReferenceResponse,
  TEXTS,
} from '../platform/http/api-fields.js';
import { WITHOUT_NUL } from '../platform/http/validation.js';
import type { GuaranteeWitness } from '../trino-rules/answers/guarantee-verdicts.js';
import { guaranteeFields } from '../trino-rules/model/guarantee-file.js';
import {
  GUARANTEE_KINDS,
  GUARANTEE_MODES,
  type GuaranteeKind,
  type GuaranteeMode,
} from '../trino-rules/model/guarantee.js';
import { hasId, principalText } from '../trino-rules/model/principal.js';
import { PRIVILEGES } from '../trino-rules/model/privilege.js';
import { THROUGH_ANSWER } from './access.response.js';
import { MAX_GUARANTEES, type RecordedGuarantee } from './domain/guarantee.js';
import type { CheckedGuarantee } from './guarantees.service.js';
import { POLICY_PRINCIPAL, POLICY_PRINCIPAL_ANSWER, PRINCIPAL_ANSWER } from './principal.dto.js';
import { POLICY_RESOURCE, POLICY_RESOURCE_ANSWER } from './resource.dto.js';

const PRIVILEGES_FIELD = {
  ...{ enum: PRIVILEGES, isArray: true, minItems: 1 },
  description: 'Default: all grantable ones except EXECUTE_QUERIES.',
};
const UNFILTERED_FIELD = { type: Boolean, default: false, description: 'About reading rows without any row filter.' };
const KIND_FIELD = { enum: GUARANTEE_KINDS, enumName: 'GuaranteeKind' };
const MODE_FIELD = { enum: GUARANTEE_MODES, enumName: 'GuaranteeMode' };

class GuaranteeScopeDto {
  @ApiProperty(POLICY_RESOURCE) resource!: object;
  @ApiPropertyOptional(PRIVILEGES_FIELD) privileges?: string[];
  @ApiPropertyOptional(UNFILTERED_FIELD) unfiltered?: boolean;
}

/** The fields of all kinds of guarantees, for the OpenAPI document only. `GuaranteeReader` validates request bodies and files. */
function GuaranteeFields(principal: object, resource: object) {
  const PRINCIPALS_FIELD = { type: 'array' as const, items: principal };
  class Fields {
    @ApiProperty({ minLength: 1, maxLength: 100, description: 'Unique, compared without case.' }) name!: string;
    @ApiProperty(KIND_FIELD) kind!: GuaranteeKind;
    @ApiPropertyOptional({ type: Object, ...principal, description: 'All kinds but `only`.' })
    principal?: object;
    @ApiPropertyOptional({ ...PRINCIPALS_FIELD, description: 'For `only`: the allowed ones.' }) principals?: object[];
    @ApiPropertyOptional({ ...PRINCIPALS_FIELD, description: 'For `never`, `apart`, `at_most`.' }) except?: object[];
    @ApiPropertyOptional({ ...resource, description: 'With all nodes below. All kinds but `apart`.' })
    resource?: object;
    @ApiPropertyOptional(PRIVILEGES_FIELD) privileges?: string[];
    @ApiPropertyOptional(UNFILTERED_FIELD) unfiltered?: boolean;
    @ApiPropertyOptional({ type: GuaranteeScopeDto, description: 'For `apart`.' }) first?: object;
    @ApiPropertyOptional({ type: GuaranteeScopeDto, description: 'For `apart`.' })
    second?: object;
    @ApiPropertyOptional({ ...INTEGER, minimum: 1, maximum: 10_000, description: 'For `at_most`.' }) count?: number;
  }
  return Fields;
}

export class GuaranteeDto extends GuaranteeFields(POLICY_PRINCIPAL, POLICY_RESOURCE) {
  @ApiPropertyOptional({ type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL }) description?: string;
  @ApiPropertyOptional({ ...MODE_FIELD, default: 'enforced' }) mode?: GuaranteeMode;
}

export class GuaranteeCheckDto {
  @ApiPropertyOptional({ type: [GuaranteeDto], maxItems: MAX_GUARANTEES, description: 'Default: all recorded ones.' })
  guarantees?: GuaranteeDto[];
}

class SecondResponse {
  @ApiProperty(POLICY_RESOURCE_ANSWER) resource!: object;
  @ApiProperty({ enum: PRIVILEGES }) privilege!: string;
}

export class GuaranteeWitnessResponse extends SecondResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: object;
  @ApiPropertyOptional({ type: SecondResponse, description: 'For `apart`: the other access of the principal.' })
  second?: SecondResponse;
  @ApiProperty({ ...INTEGERS, description: 'Ids of grants that give it.' }) grants!: number[];
  @ApiProperty({ ...INTEGERS, description: 'For `always`: ids of denying policies.' })
  policies!: number[];
  @ApiProperty({ oneOf: [...THROUGH_ANSWER.oneOf, { type: 'null' }] }) through!: GuaranteeWitness['through'];
  @ApiProperty({ description: 'A sentence on the breach, with the change that ends it.' }) message!: string;
}

class CheckedResponse {
  @ApiProperty(INTEGER) principals!: number;
  @ApiProperty(INTEGER) nodes!: number;
}

/** The fields of `GuaranteeDto`, with names of principals, and the verdict. */
class GuaranteeFieldsResponse extends GuaranteeFields(POLICY_PRINCIPAL_ANSWER, POLICY_RESOURCE_ANSWER) {
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty(MODE_FIELD) mode!: GuaranteeMode;

  @ApiProperty({ enum: ['holds', 'broken'], nullable: true, description: 'Null: not judged yet.' })
  state!: 'holds' | 'broken' | null;

  @ApiProperty({ ...INTEGER, description: 'Number of breaches: of principal, node and privilege.' }) broken_by!: number;
  @ApiProperty({ type: [GuaranteeWitnessResponse], description: 'The first breaches.' }) witnesses!: GuaranteeWitness[];
  @ApiProperty({ type: CheckedResponse, nullable: true }) checked!: CheckedResponse | null;
  @ApiProperty({ ...TEXTS, description: 'Service accounts, which no guarantee is about.' }) not_about!: string[];
}

export class GuaranteeResponse extends GuaranteeFieldsResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty({ ...NULLABLE_MOMENT, description: 'First time it was broken; null: it holds.' })
  since!: string | null;
  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Time of the judged state.' }) judged_at!: string | null;
  @ApiProperty({ type: ReferenceResponse, nullable: true, description: 'Last author; null: the command line.' })
  written_by!: ReferenceResponse | null;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(MOMENT) changed_at!: string;
}

export class GuaranteePageResponse extends PageResponse(GuaranteeResponse) {}

class CheckedGuaranteeResponse extends GuaranteeFieldsResponse {
  @ApiProperty({ ...INTEGER, nullable: true, description: 'Null: the guarantee is not recorded.' }) id!: number | null;
}

export class GuaranteeCheckResponse {
  @ApiProperty({ type: [CheckedGuaranteeResponse] }) guarantees!: CheckedGuaranteeResponse[];
}

function toFields({ guarantee, description, judgement, names }: CheckedGuarantee, serviceAccounts: readonly string[]) {
  const { brokenBy = 0, witnesses = [], checked = null } = judgement ?? {};
  const fields = guaranteeFields(guarantee, (each) =>
    hasId(each) ? { ...each, name: names?.[principalText(each)] ?? '' } : each,
  );
  return {
    ...(fields as Pick<GuaranteeFieldsResponse, 'name' | 'kind' | 'mode'>),
    ...{ description, witnesses, checked, broken_by: brokenBy },
    state: judgement && (brokenBy > 0 ? ('broken' as const) : ('holds' as const)),
    not_about: [...serviceAccounts],
  };
}

export function toGuaranteeResponse(recordedGuarantee: RecordedGuarantee, serviceAccounts: readonly string[]) {
  const { guarantee, brokenSince, judgedAt, writtenBy, createdAt, changedAt } = recordedGuarantee;
  return {
    id: guarantee.id,
    ...toFields(recordedGuarantee, serviceAccounts),
    since: brokenSince?.toISOString() ?? null,
    judged_at: judgedAt?.toISOString() ?? null,
    written_by: writtenBy,
    created_at: createdAt.toISOString(),
    changed_at: changedAt.toISOString(),
  };
}

export function toCheckedResponse(checkedGuarantee: CheckedGuarantee, serviceAccounts: readonly string[]) {
  const { id } = checkedGuarantee.guarantee;
  return { id: id > 0 ? id : null, ...toFields(checkedGuarantee, serviceAccounts) };
}
