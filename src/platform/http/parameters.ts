import { Injectable, type PipeTransform } from '@nestjs/common';
import { parse } from 'fast-querystring';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';

/** The most query parameters, as many as headers. No operation uses a tenth of it. */
const MAX_PARAMETERS = 100;

const TOO_MANY = Object.freeze({});

/** Parses the query of a request's target, except one with too many parameters, which refuseManyParameters answers. */
export function readParameters(query: string): Record<string, unknown> {
  const isTooMany = query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS;
  return isTooMany ? TOO_MANY : (parse(query) as Record<string, unknown>);
}

/** Answers 400 to a request with more than 100 parameters, before anything else is done for it. */
export function refuseManyParameters(server: FastifyInstance): void {
  server.addHook('onRequest', ({ query }, _, done) => {
    const detail = `There are more than ${MAX_PARAMETERS} parameters.`;
    done(query === TOO_MANY ? new Refused('bad_request', { detail }) : undefined);
  });
}

/** Parses the id of a row in a path. A malformed id gets 404, like an unknown one. */
@Injectable()
export class RowIdPipe implements PipeTransform<string, number> {
  transform(text: string): number {
    const id = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
    if (id === 0 || id >= 2 ** 31) throw new Refused('not_found');
    return id;
  }
}
