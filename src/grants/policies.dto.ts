import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayNotEmpty, IsArray, IsIn, ValidateIf } from 'class-validator';
import { type FieldError, Refused } from '../kernel/errors.js';
import { INTEGER, MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import {
  optionalRule,
  FieldRule,
  NestedArray,
  NestedObject,
  ruleForText,
  WITHOUT_NUL,
} from '../platform/http/validation.js';
import type { Node } from '../trino-rules/model/node.js';
import type { NamedPolicyPrincipal, NamedPrincipal } from '../trino-rules/model/principal.js';
import { PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import { POLICY_KINDS } from '../trino-rules/model/snapshot.js';
import { descriptionProblem, privilegeMessage } from './domain/grant.js';
import {
  MAX_EXCEPTIONS,
  MAX_EXPRESSION,
  type NewPolicy,
  parsePolicyRule,
  type Policy,
  type PolicyKind,
} from './domain/policy.js';
import { WARNINGS } from './grants.dto.js';
import {
  PRINCIPAL,
  PRINCIPAL_ANSWER,
  PrincipalDto,
  POLICY_PRINCIPAL,
  POLICY_PRINCIPAL_ANSWER,
  PolicyPrincipalDto,
  toPrincipal,
  toPolicyPrincipal,
} from './principal.dto.js';
import { POLICY_RESOURCE, POLICY_RESOURCE_ANSWER, PolicyResourceDto, toNode } from './resource.dto.js';

export class PolicyDto {
  @ApiProperty({ enum: POLICY_KINDS })
  @IsIn(POLICY_KINDS, { message: `must be ${POLICY_KINDS.join(', ')}` })
  kind!: PolicyKind;

  @ApiProperty({ type: Object, ...POLICY_PRINCIPAL })
  @NestedObject(() => PolicyPrincipalDto)
  principal!: PolicyPrincipalDto;

  @ApiPropertyOptional({
    type: 'array',
    items: PRINCIPAL,
    maxItems: MAX_EXCEPTIONS,
    description: 'Principals that the policy does not apply to.',
  })
  @NestedArray(() => PrincipalDto, MAX_EXCEPTIONS)
  except: PrincipalDto[] = [];

  @ApiProperty(POLICY_RESOURCE)
  @NestedObject(() => PolicyResourceDto)
  resource!: PolicyResourceDto;

  @ApiPropertyOptional({
    type: String,
    maxLength: MAX_EXPRESSION,
    description: 'SQL; for a row filter or a column mask.',
  })
  // Only the length is checked here; `parsePolicyRule` checks the content of the expression.
  @FieldRule(
    optionalRule(
      ruleForText(({ length }) => (length > MAX_EXPRESSION ? `must have at most ${MAX_EXPRESSION} characters` : null)),
    ),
  )
  expression?: string;

  @ApiPropertyOptional({ enum: PRIVILEGES, isArray: true, minItems: 1, description: 'For a deny; default: all.' })
  @ValidateIf(({ privileges }: PolicyDto) => privileges !== undefined)
  @IsArray({ message: 'must be a list' })
  @ArrayNotEmpty({ message: 'must name at least one privilege' })
  @IsIn(PRIVILEGES, { each: true, message: privilegeMessage })
  privileges?: Privilege[];

  @ApiPropertyOptional({ type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL })
  @FieldRule(descriptionProblem)
  description?: string | null;
}

export class PolicyResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty({ enum: POLICY_KINDS }) kind!: PolicyKind;
  @ApiProperty({ type: Object, ...POLICY_PRINCIPAL_ANSWER }) principal!: NamedPolicyPrincipal;
  @ApiProperty({ type: 'array', items: PRINCIPAL_ANSWER }) except!: NamedPrincipal[];
  @ApiProperty(POLICY_RESOURCE_ANSWER) resource!: Node & { column?: string };
  @ApiPropertyOptional() expression?: string;
  @ApiPropertyOptional({ enum: PRIVILEGES, isArray: true }) privileges?: Privilege[];
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(MOMENT) changed_at!: string;

  @ApiPropertyOptional(WARNINGS) warnings?: string[];
}

export class PolicyPageResponse extends PageResponse(PolicyResponse) {}

/** @throws Refused `validation_failed` when the fields do not match the kind */
export function toNewPolicy(policy: PolicyDto): NewPolicy {
  const policyOrErrors = parsePolicy(policy);
  if (Array.isArray(policyOrErrors)) throw new Refused('validation_failed', { errors: policyOrErrors });
  return policyOrErrors;
}

export function parsePolicy({
  kind,
  principal,
  except,
  resource,
  expression,
  privileges,
  description,
}: PolicyDto): NewPolicy | FieldError[] {
  const { column } = resource;
  const rule = parsePolicyRule({
    kind,
    resource: { ...toNode(resource), ...(column === undefined ? {} : { column }) },
    ...(expression === undefined ? {} : { expression }),
    ...(privileges === undefined ? {} : { privileges }),
  });
  if (Array.isArray(rule)) return rule;
  return {
    rule,
    principal: toPolicyPrincipal(principal),
    except: except.map(toPrincipal),
    description: description ?? null,
  };
}

export function toPolicyResponse(policy: Policy, warnings: readonly string[] = []): PolicyResponse {
  const { id, rule, principal, except, description, createdAt, changedAt } = policy;
  return {
    id,
    kind: rule.kind,
    principal,
    except,
    resource: rule.resource,
    ...('expression' in rule ? { expression: rule.expression } : {}),
    ...('privileges' in rule ? { privileges: rule.privileges } : {}),
    description,
    created_at: createdAt.toISOString(),
    changed_at: changedAt.toISOString(),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}
