import { Injectable, type PipeTransform } from '@nestjs/common';
import { Refused } from '../kernel/errors.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { parsePrincipal, PRINCIPAL_PATTERNS } from './principal.dto.js';

/** A member of a group in a path: a user's id, or `engine:NAME`. What is neither gets 404, like an unknown one. */
@Injectable()
export class MemberPipe implements PipeTransform<string, GroupMember> {
  transform(text: string): GroupMember {
    const member = parsePrincipal(text.startsWith('engine:') ? text : `user:${text}`);
    if (member === null || member.type === 'group') throw new Refused('not_found');
    return member;
  }
}

/** Its OpenAPI parameter. */
export const MEMBER_PARAMETER = {
  name: 'member',
  schema: { type: 'string', pattern: `^([0-9]{1,10}|${PRINCIPAL_PATTERNS.engine})$` },
  description: "A user's id, or `engine:NAME`.",
} as const;
