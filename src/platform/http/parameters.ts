import { Injectable, type PipeTransform } from '@nestjs/common';
import { parse } from 'fast-querystring';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { isUuid } from '../../kernel/ids.js';

/** The most query parameters of a request, equal to the limit of headers. Operations use fewer than ten. */
const MAX_PARAMETERS = 100;

/** A marker in place of the parsed query of a request with too many parameters. */
const TOO_MANY_PARAMETERS = Object.freeze({});

/** Parses the query of a request's target. Too many parameters give TOO_MANY_PARAMETERS, which `refuseManyParameters` answers with 400. */
export function readParameters(query: string): Record<string, unknown> {
  const hasTooManyParameters = query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS;
  return hasTooManyParameters ? TOO_MANY_PARAMETERS : (parse(query) as Record<string, unknown>);
}

/** Answers 400 to a request with more than MAX_PARAMETERS query parameters, before anything else is done for the request. */
export function refuseManyParameters(server: FastifyInstance): void {
  server.addHook('onRequest', ({ query }, _, done) => {
    const detail = `There are more than ${MAX_PARAMETERS} parameters.`;
    done(query === TOO_MANY_PARAMETERS ? new Refused('bad_request', { detail }) : undefined);
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

/** Parses a UUID in a path, in any case. A malformed id gets 404, like an unknown one. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  transform(text: string): string {
    if (!isUuid(text)) throw new Refused('not_found');
    return text.toLowerCase();
  }
}
