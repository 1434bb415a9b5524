import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { Fits, idProblem } from '../platform/fits.js';
import { type PolicySubject, type Principal, principalNameProblem } from './domain/principal.js';

const TYPES = ['user', 'group', 'engine'] as const;
const SUBJECT_TYPES = [...TYPES, 'everyone'] as const;

const belongs = (value: unknown) => (value === undefined ? null : 'does not belong to a principal of this type');
const hasId = (type: unknown) => type === 'user' || type === 'group';

/** Whom a grant names: an account or a group by its id, an engine principal by its name. */
export class PrincipalDto {
  @ApiProperty({ enum: TYPES })
  @IsIn(TYPES, { message: 'must be user, group or engine' })
  type!: (typeof TYPES)[number];

  @ApiPropertyOptional({ type: 'integer' })
  @Fits<PrincipalDto>((id, { type }) => (hasId(type) ? idProblem(id) : belongs(id)))
  id?: number;

  @ApiPropertyOptional({ type: String, minLength: 1, maxLength: 128 })
  @Fits<PrincipalDto>((name, { type }) => (type === 'engine' ? principalNameProblem(name) : belongs(name)))
  name?: string;
}

/** Whom a policy names. */
export class SubjectDto {
  @ApiProperty({ enum: SUBJECT_TYPES })
  @IsIn(SUBJECT_TYPES, { message: 'must be user, group, engine or everyone' })
  type!: (typeof SUBJECT_TYPES)[number];

  @ApiPropertyOptional({ type: 'integer' })
  @Fits<SubjectDto>((id, { type }) => (hasId(type) ? idProblem(id) : belongs(id)))
  id?: number;

  @ApiPropertyOptional({ type: String, minLength: 1, maxLength: 128 })
  @Fits<SubjectDto>((name, { type }) => (type === 'engine' ? principalNameProblem(name) : belongs(name)))
  name?: string;
}

export function toPrincipal({ type, id = 0, name = '' }: PrincipalDto): Principal {
  return type === 'engine' ? { type, name } : { type, id };
}

export function toSubject({ type, id = 0, name = '' }: SubjectDto): PolicySubject {
  if (type === 'everyone') return { type };
  return type === 'engine' ? { type, name } : { type, id };
}

/** Out of `user:12`, `group:3` or `engine:NAME`; null: it is none of these. */
export function parsePrincipal(text: string): Principal | null {
  const [, type, rest = ''] = /^(user|group|engine):(.+)$/s.exec(text) ?? [];
  if (type === 'engine') return principalNameProblem(rest) === null ? { type, name: rest } : null;
  const id = /^[0-9]{1,10}$/.test(rest) ? Number(rest) : 0;
  return (type === 'user' || type === 'group') && idProblem(id) === null ? { type, id } : null;
}
