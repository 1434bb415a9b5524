import { Injectable, type PipeTransform } from '@nestjs/common';
import { found } from '../kernel/errors.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { MEMBER_TEXT, parseMember } from './principal.dto.js';

/** A member of a group in a path: a user's id, or `engine:NAME`. What is neither gets 404, like an unknown one. */
@Injectable()
export class MemberPipe implements PipeTransform<string, GroupMember> {
  transform(text: string): GroupMember {
    return found(parseMember(text));
  }
}

/** Its OpenAPI parameter. */
export const MEMBER_PARAMETER = { name: 'member', ...MEMBER_TEXT } as const;
