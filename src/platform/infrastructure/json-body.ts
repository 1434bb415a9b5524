import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { type JsonNode, readJson } from '../../kernel/json-reader.js';
import { UNKNOWN_FIELD } from './field-errors.js';

/** A body that cannot be taken. It is thrown after the guard (see BodyGate), so that a stranger gets 401 before 415 or 400. */
export class UnreadableBody {
  constructor(readonly refused: Refused) {}
}

/** Every object has these: class-transformer passes over them in silence, where it refuses any other unknown field. */
export const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

/** A batch of a thousand grants has 16,000. Validation takes some 20 microseconds for each, and nothing else runs meanwhile. */
const MOST_VALUES = 20_000;

/** Bytes, by route and not by what was written for it, which may be escaped (docs/decisions/0005). */
function bodyLimit(path: string): number {
  if (path.startsWith('/api/auth/')) return 16 * 1024;
  if (path.startsWith('/api/queries')) return Math.floor(1.1 * 1024 * 1024);
  return 1024 * 1024;
}

/**
 * Replaces Fastify's parsers: JSON only, in UTF-8 only, one object, each key once, within the limit of its path.
 * `JSON.parse` takes duplicate keys and lone surrogates; Fastify's own parser takes bodies that are no objects.
 */
export function readJsonBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage, done) => {
    readBody(request, payload).then(
      (body) => done(null, body),
      (cause: unknown) => done(new Refused('bad_request', { detail: 'The body broke off.', cause })),
    );
  });
}

async function readBody(request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const limit = bodyLimit(request.routeOptions.url ?? '');
  if (Number(request.headers['content-length'] ?? 0) > limit) return tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return tooLarge(limit);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const encoding = request.headers['content-encoding'];
  if (!isJson(request.headers['content-type']) || (encoding !== undefined && encoding !== 'identity')) {
    return new UnreadableBody(
      new Refused('unsupported_media_type', { detail: 'Bodies are application/json in UTF-8, not compressed.' }),
    );
  }
  return parseBody(Buffer.concat(chunks));
}

function tooLarge(limit: number): UnreadableBody {
  return new UnreadableBody(new Refused('payload_too_large', { detail: `A body here has at most ${limit} bytes.` }));
}

/**
 * `application/json`, with no parameter or with charset=utf-8 (RFC 8259 section 8.1). Split, because one expression would take
 * time as the square of the header's length.
 */
function isJson(contentType: string | undefined): boolean {
  const [type, ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => ['', 'charset=utf-8', 'charset="utf-8"'].includes(parameter))
  );
}

function parseBody(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return malformed('The body is not UTF-8.');
  }
  const { root, faults } = readJson(text);
  const fault = faults[0];
  if (fault !== undefined) return malformed(`The body is not JSON as taken here: ${fault.message}.`);
  if (root?.kind !== 'object') return malformed('The body must be a JSON object.');
  if (valuesIn(root) > MOST_VALUES) {
    return new UnreadableBody(
      new Refused('payload_too_large', { detail: `A body has at most ${MOST_VALUES} values and fields.` }),
    );
  }
  const inherited = names(root).filter((name) => INHERITED.has(name));
  if (inherited.length > 0) {
    const errors = inherited.map((field) => ({ field, message: UNKNOWN_FIELD }));
    return new UnreadableBody(new Refused('validation_failed', { errors }));
  }
  return toPlain(root);
}

function malformed(detail: string): UnreadableBody {
  return new UnreadableBody(new Refused('malformed_json', { detail }));
}

function names(node: JsonNode): string[] {
  if (node.kind === 'array') return node.items.flatMap(names);
  return node.kind === 'object' ? node.members.flatMap(({ key, value }) => [key, ...names(value)]) : [];
}

function valuesIn(node: JsonNode): number {
  const parts =
    node.kind === 'array' ? node.items : node.kind === 'object' ? node.members.map(({ value }) => value) : [];
  return parts.reduce((sum, part) => sum + valuesIn(part), 1);
}

function toPlain(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, value }) => [key, toPlain(value)]));
    case 'array':
      return node.items.map(toPlain);
    case 'number':
      return Number(node.text);
    case 'null':
      return null;
    case 'string':
    case 'boolean':
      return node.value;
  }
}
