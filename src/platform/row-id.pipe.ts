import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Refused } from '../kernel/errors.js';

/**
 * The parameter that holds the id of a row, out of the path. What cannot be one is the id of nothing: 404. Not a pipe on
 * `@Param`, because the global pipe has made numbers of `1.0` and `0x1` before.
 */
export function RowId(name: string): ParameterDecorator {
  return (target, key, index) => {
    if (key === undefined) throw new Error('RowId belongs to a parameter of a method');
    idInPath(name)(target, key, index);
    const method = Object.getOwnPropertyDescriptor(target, key);
    if (method !== undefined) ApiParam({ name, schema: { type: 'integer', minimum: 1 } })(target, key, method);
  };
}

const idInPath = createParamDecorator((name: string, context: ExecutionContext): number => {
  const { params } = context.switchToHttp().getRequest<FastifyRequest<{ Params: Record<string, string> }>>();
  const text = params[name] ?? '';
  const id = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (id === 0 || id >= 2 ** 31) throw new Refused('not_found');
  return id;
});
