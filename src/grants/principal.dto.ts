import { IsIn } from 'class-validator';
import { parseDecimal } from '../kernel/decimal.js';
import { principalNameProblem } from '../kernel/name.js';
import { NAME } from '../platform/http/api-fields.js';
import { FieldRule, idProblem } from '../platform/http/validation.js';
import {
  type GroupMember,
  POLICY_PRINCIPAL_TYPES,
  type PolicyPrincipal,
  type Principal,
  PRINCIPAL_TYPES,
} from '../trino-rules/model/principal.js';

const mustBeAbsent = (value: unknown) => (value === undefined ? null : 'does not belong to a principal of this type');
const hasNumericId = (type: string) => type === 'user' || type === 'group';

export const ID = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 } as const;

export const exactObject = (properties: Record<string, object>) => ({
  type: 'object' as const,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const principalSchemas = (extraFields: Record<string, object>) => [
  exactObject({ type: { type: 'string', enum: ['user', 'group'] }, id: ID, ...extraFields }),
  exactObject({ type: { type: 'string', enum: ['engine'] }, name: NAME }),
];
const EVERYONE = exactObject({ type: { type: 'string', enum: ['everyone'] } });

/** OpenAPI schemas in requests: a principal, and the principal of a grant or policy, which can be everyone. */
export const PRINCIPAL = { oneOf: principalSchemas({}) };
export const POLICY_PRINCIPAL = { oneOf: [...principalSchemas({}), EVERYONE] };
/** OpenAPI schemas in responses: as in requests, but users and groups also have their current names. */
export const PRINCIPAL_ANSWER = { oneOf: principalSchemas({ name: NAME }) };
export const POLICY_PRINCIPAL_ANSWER = { oneOf: [...principalSchemas({ name: NAME }), EVERYONE] };

abstract class IdOrNameDto {
  abstract type: PolicyPrincipal['type'];

  @FieldRule<IdOrNameDto>((id, { type }) => (hasNumericId(type) ? idProblem(id) : mustBeAbsent(id)))
  id?: number;

  @FieldRule<IdOrNameDto>((name, { type }) => (type === 'engine' ? principalNameProblem(name) : mustBeAbsent(name)))
  name?: string;
}

export class PrincipalDto extends IdOrNameDto {
  @IsIn(PRINCIPAL_TYPES, { message: 'must be user, group or engine' })
  type!: Principal['type'];
}

export class PolicyPrincipalDto extends IdOrNameDto {
  @IsIn(POLICY_PRINCIPAL_TYPES, { message: 'must be user, group, engine or everyone' })
  type!: PolicyPrincipal['type'];
}

export function toPrincipal({ type, id = 0, name = '' }: PrincipalDto): Principal {
  return type === 'engine' ? { type, name } : { type, id };
}

export function toPolicyPrincipal({ type, ...principalFields }: PolicyPrincipalDto): PolicyPrincipal {
  return type === 'everyone' ? { type } : toPrincipal({ type, ...principalFields });
}

/** Parses `user:12`, `group:3` or `engine:NAME`; null: none of these. */
export function parsePrincipal(text: string): Principal | null {
  const [, type, idOrName = ''] = /^(user|group|engine):(.+)$/s.exec(text) ?? [];
  if (type === 'engine') return principalNameProblem(idOrName) === null ? { type, name: idOrName } : null;
  const id = parseDecimal(idOrName);
  return (type === 'user' || type === 'group') && idProblem(id) === null ? { type, id } : null;
}

export function parsePolicyPrincipal(text: string): PolicyPrincipal | null {
  return text === 'everyone' ? { type: text } : parsePrincipal(text);
}

/** Parses a member of a group: `12`, a user's id, or `engine:NAME`; null: none of these. */
export function parseMember(text: string): GroupMember | null {
  const member = parsePrincipal(text.startsWith('engine:') ? text : `user:${text}`);
  return member === null || member.type === 'group' ? null : member;
}

export const PRINCIPAL_PATTERNS = {
  row: '(user|group):[0-9]{1,10}',
  engine: 'engine:[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}',
};

export const PRINCIPAL_PARAMETER = {
  type: String,
  pattern: `^(${PRINCIPAL_PATTERNS.row}|${PRINCIPAL_PATTERNS.engine})$`,
  description: '`user:12`, `group:3` or `engine:NAME`.',
};
export const POLICY_PRINCIPAL_PARAMETER = {
  type: String,
  pattern: `^(${PRINCIPAL_PATTERNS.row}|${PRINCIPAL_PATTERNS.engine}|everyone)$`,
  description: '`user:12`, `group:3`, `engine:NAME` or `everyone`.',
};

export const MEMBER_TEXT = {
  schema: { type: 'string', pattern: `^([0-9]{1,10}|${PRINCIPAL_PATTERNS.engine})$` },
  description: "A user's id, or `engine:NAME`.",
} as const;

const parameterProblem =
  (parse: (text: string) => unknown, message: string) =>
  (text: unknown): string | null => {
    if (text === undefined) return 'is required';
    return typeof text === 'string' && parse(text) !== null ? null : message;
  };

export const memberParameterProblem = parameterProblem(parseMember, "must be a user's id or engine:NAME");
export const principalParameterProblem = parameterProblem(parsePrincipal, 'must be user:ID, group:ID or engine:NAME');
export const policyPrincipalParameterProblem = parameterProblem(
  parsePolicyPrincipal,
  'must be user:ID, group:ID, engine:NAME or everyone',
);
