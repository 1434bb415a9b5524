import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { type JsonLimits, plainValue, readJson } from '../../kernel/json-reader.js';
import { AccessGuard } from './access.guard.js';
import { WorkBudgets } from './work-budgets.js';

/** Limits of a route's body. `types` are the accepted content types; default: JSON. */
interface RouteBodyLimits extends Pick<JsonLimits, 'maxValues' | 'maxMembers' | 'maxKeys'> {
  maxBytes: number;
  types?: readonly string[];
}

/** Limits of bodies with few fields. Their senders may be unauthenticated. */
const DEFAULT_LIMITS: RouteBodyLimits = { maxBytes: 16 * 1024, maxValues: 200, maxMembers: 100 };

/** Limits for administrators' routes. A batch of 1,000 grants has 16,000 values; validation blocks other work for about 20 µs for each value. */
export const ADMINISTRATION: RouteBodyLimits = { maxBytes: 1024 * 1024, maxValues: 20_000, maxMembers: Infinity };

/**
 * Limits for SCIM and snapshot files. A SCIM group of 10,000 members has 889 kB and 30,000 values; a grant in a snapshot has about ten values.
 * The keys of one object are limited more strictly, because parsing a key costs more than parsing a list entry.
 */
export const BULK: RouteBodyLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxValues: 200_000,
  maxMembers: Infinity,
  maxKeys: 1_000,
};

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Each chunk of a body counts as at least this many bytes, because Node emits an event for each chunk, however small. */
const MIN_CHUNK_BYTES = 64;

const LIMITS_METADATA = 'grantline:body-limits';

/** Makes a route read the request's body, after its guards and before validation. Other routes read no body. */
export const BodyLimits = (limits: Partial<RouteBodyLimits> = {}): MethodDecorator =>
  applyDecorators(SetMetadata(LIMITS_METADATA, { ...DEFAULT_LIMITS, ...limits }), UseInterceptors(BodyReader));

/** Keeps Fastify from reading bodies, because it would read them before Nest's guards run. */
export function leaveBodiesUnread(server: FastifyInstance): void {
  for (const method of server.supportedMethods) {
    server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

@Injectable()
class BodyReader implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly workBudgets: WorkBudgets,
    private readonly accessGuard: AccessGuard,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<ReturnType<CallHandler['handle']>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.headers.expect?.toLowerCase() === '100-continue') http.getResponse<FastifyReply>().raw.writeContinue();
    const isComplete = request.raw.complete;
    const limits = this.reflector.get<RouteBodyLimits>(LIMITS_METADATA, context.getHandler());
    request.body = await this.readBody(request, limits);
    // Access is checked again: the body may take HTTP_REQUEST_TIMEOUT_SECONDS to arrive, and session or role may have ended meanwhile.
    if (!isComplete) await this.accessGuard.canActivate(context);
    return next.handle();
  }

  /**
   * Reads the body: one object in UTF-8, without the duplicate keys and lone surrogates that `JSON.parse` would accept. Undefined: no body.
   * @throws Refused
   */
  private async readBody(request: FastifyRequest, limits: RouteBodyLimits): Promise<unknown> {
    const { types = ['application/json'], maxBytes } = limits;
    const { 'content-type': contentType, 'content-encoding': encoding = 'identity' } = request.headers;
    const isSupported = isTypeIn(types, contentType) && encoding === 'identity';
    const bytes = await (isSupported
      ? readBytes(request, maxBytes)
      : // Refused at its first byte: an empty body may have any type.
        readBytes(request, 0, () => unsupportedTypeRefusal(types)));
    if (bytes.length === 0) return undefined;
    return this.workBudgets.chargeParsing(request, () =>
      types.includes(FORM_TYPE) ? parseForm(bytes) : parseBody(bytes, limits),
    );
  }
}

/**
 * Reads the body by events, because Node's iterator doubles the time for a small body.
 * @throws Refused `bad_request` for a body that ends early; `makeRefusal()` for one of more than `maxBytes`
 */
export async function readBytes(
  { raw, headers }: FastifyRequest,
  maxBytes: number,
  makeRefusal = () => tooLargeRefusal(maxBytes),
): Promise<Buffer> {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw makeRefusal();
  const minChunkBytes = headers['transfer-encoding'] === undefined ? 0 : MIN_CHUNK_BYTES;
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let receivedBytes = 0;
    const rejectIncompleteBody = (cause?: unknown): void =>
      reject(new Refused('bad_request', { detail: 'The body ended early.', cause }));
    if (raw.destroyed) rejectIncompleteBody();
    // The listener is not removed after a refusal, because without a listener Node schedules a callback for each chunk.
    raw.on('data', (piece: Buffer) => {
      if (receivedBytes > maxBytes) return;
      receivedBytes += Math.max(piece.length, minChunkBytes);
      pieces.push(piece);
      if (receivedBytes > maxBytes) reject(makeRefusal());
    });
    raw.once('end', () => resolve(Buffer.concat(pieces)));
    raw.once('error', rejectIncompleteBody);
  });
}

function unsupportedTypeRefusal(mediaTypes: readonly string[]): Refused {
  const detail = `Bodies are ${mediaTypes.join(' or ')} in UTF-8, not compressed.`;
  return new Refused('unsupported_media_type', { detail, mediaTypes });
}

function tooLargeRefusal(maxBytes: number): Refused {
  return new Refused('payload_too_large', { detail: `A body here has at most ${maxBytes} bytes.` });
}

/**
 * Whether a content type is one of the types, without parameters or with charset=utf-8 (RFC 8259 section 8.1). The header is split first,
 * because one regular expression would take quadratic time.
 */
export function isTypeIn(types: readonly string[], contentType = ''): boolean {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    types.includes(type) &&
    parameters.every((parameter) => ['', 'charset=utf-8', 'charset="utf-8"'].includes(parameter))
  );
}

function parseBody(bytes: Buffer, limits: RouteBodyLimits): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformedJsonRefusal('The body is not UTF-8.');
  }
  const { root, faults } = readJson(text, { ...limits, maxFaults: 1 });
  const fault = faults[0];
  if (fault?.code === 'json-too-many-values') {
    throw new Refused('payload_too_large', { detail: `The body has ${fault.message}.` });
  }
  if (fault !== undefined) throw malformedJsonRefusal(`Invalid JSON: ${fault.message}.`);
  if (root?.kind !== 'object') throw malformedJsonRefusal('The body must be a JSON object.');
  return plainValue(root);
}

/** The fields of a form as an object. @throws Refused if a field is repeated */
function parseForm(bytes: Buffer): unknown {
  const fields = [...new URLSearchParams(bytes.toString())];
  const form = Object.fromEntries(fields);
  if (Object.keys(form).length < fields.length) throw new Refused('bad_request', { detail: 'A field came twice.' });
  return form;
}

function malformedJsonRefusal(detail: string): Refused {
  return new Refused('malformed_json', { detail });
}
