import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';

/**
 * A request of HTTP/1.1 has exactly one Host header, or is answered with 400 (RFC 9112 section 3.2). Node silently
 * keeps the first of several, and answers a missing one without a body: its own check must be off.
 */
export function requireOneHost(server: FastifyInstance): void {
  server.addHook('preParsing', ({ raw }, _, __, done) => {
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
    const isGood = hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0');
    done(isGood ? null : new Refused('bad_request', { detail: 'There must be exactly one Host header.' }));
  });
}
