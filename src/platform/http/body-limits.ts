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

/** Limits of a route's body. Default of `types`: JSON. */
interface BodyShape extends Pick<JsonLimits, 'maxValues' | 'maxMembers' | 'maxKeys'> {
  bytes: number;
  types?: readonly string[];
}

/** A few fields; the sender may be unauthenticated. */
const SMALL: BodyShape = { bytes: 16 * 1024, maxValues: 200, maxMembers: 100 };

/** A batch of a thousand grants has 16,000 values. Validation takes about 20 microseconds for each, and blocks other work meanwhile. */
export const ADMINISTRATION: BodyShape = { bytes: 1024 * 1024, maxValues: 20_000, maxMembers: Infinity };

/**
 * A SCIM group of 10,000 members has 889 kB and 30,000 values; a grant in a snapshot has about ten values. Their objects have few keys,
 * so these are limited more strictly: keys cost more than entries of lists.
 */
export const BULK: BodyShape = { bytes: 8 * 1024 * 1024, maxValues: 200_000, maxMembers: Infinity, maxKeys: 1_000 };

export const FORM = 'application/x-www-form-urlencoded';

/** The least number of bytes that a chunk counts as, because Node emits an event for each chunk, however small. */
const SMALLEST_PIECE = 64;

const LIMITS = 'grantline:body-limits';

/** Lets the body of a route be read, after its guards and before validation. Without it no body is read. */
export const BodyLimits = (limits: Partial<BodyShape> = {}): MethodDecorator =>
  applyDecorators(SetMetadata(LIMITS, { ...SMALL, ...limits }), UseInterceptors(BodyReader));

/** Keeps Fastify from reading bodies, which it would do before Nest's guards. */
export function leaveBodiesUnread(server: FastifyInstance): void {
  for (const method of server.supportedMethods) {
    server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

@Injectable()
class BodyReader implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly budgets: WorkBudgets,
    private readonly access: AccessGuard,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<ReturnType<CallHandler['handle']>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.headers.expect?.toLowerCase() === '100-continue') http.getResponse<FastifyReply>().raw.writeContinue();
    const isComplete = request.raw.complete;
    request.body = await this.read(request, this.reflector.get<BodyShape>(LIMITS, context.getHandler()));
    // Access is checked again: the rest of the body may arrive HTTP_REQUEST_TIMEOUT_SECONDS later, when session or role may have ended.
    if (!isComplete) await this.access.canActivate(context);
    return next.handle();
  }

  /**
   * Reads one object in UTF-8 without duplicate keys and lone surrogates, which `JSON.parse` would accept; undefined without a body.
   * @throws Refused
   */
  private async read(request: FastifyRequest, limits: BodyShape): Promise<unknown> {
    const bytes = await readBytes(request, limits.bytes);
    if (bytes.length === 0) return undefined;
    const { types = ['application/json'] } = limits;
    const encoding = request.headers['content-encoding'];
    if (!isOneOf(types, request.headers['content-type']) || (encoding !== undefined && encoding !== 'identity')) {
      throw new Refused('unsupported_media_type', {
        detail: `Bodies are ${types.join(' or ')} in UTF-8, not compressed.`,
        mediaTypes: types,
      });
    }
    return this.budgets.chargeParsing(request, () =>
      types.includes(FORM) ? parseForm(bytes) : parseBody(bytes, limits),
    );
  }
}

/** Reads the body by events, because Node's iterator doubles the time for a small one. */
async function readBytes({ raw, headers }: FastifyRequest, limit: number): Promise<Buffer> {
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const least = headers['transfer-encoding'] === undefined ? 0 : SMALLEST_PIECE;
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const endedEarly = (cause?: unknown): void =>
      reject(new Refused('bad_request', { detail: 'The body ended early.', cause }));
    if (raw.destroyed) endedEarly();
    // The listener stays after a refusal, because without one Node schedules a callback for each chunk.
    raw.on('data', (piece: Buffer) => {
      if (size > limit) return;
      size += Math.max(piece.length, least);
      pieces.push(piece);
      if (size > limit) reject(tooLarge(limit));
    });
    raw.once('end', () => resolve(Buffer.concat(pieces)));
    raw.once('error', endedEarly);
  });
}

function tooLarge(limit: number): Refused {
  return new Refused('payload_too_large', { detail: `A body here has at most ${limit} bytes.` });
}

/**
 * Whether a content type is one of the types, without parameters or with charset=utf-8 (RFC 8259 section 8.1). The header is split first,
 * because one regular expression would take quadratic time.
 */
function isOneOf(types: readonly string[], contentType = ''): boolean {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    types.includes(type) &&
    parameters.every((parameter) => ['', 'charset=utf-8', 'charset="utf-8"'].includes(parameter))
  );
}

function parseBody(bytes: Buffer, limits: BodyShape): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8.');
  }
  const { root, faults } = readJson(text, { ...limits, maxFaults: 1 });
  const fault = faults[0];
  if (fault?.code === 'json-too-many-values') {
    throw new Refused('payload_too_large', { detail: `The body has ${fault.message}.` });
  }
  if (fault !== undefined) throw malformed(`Invalid JSON: ${fault.message}.`);
  if (root?.kind !== 'object') throw malformed('The body must be a JSON object.');
  return plainValue(root);
}

/** The fields of a form as an object. @throws Refused if a field is repeated */
function parseForm(bytes: Buffer): unknown {
  const fields = [...new URLSearchParams(bytes.toString())];
  const form = Object.fromEntries(fields);
  if (Object.keys(form).length < fields.length) throw new Refused('bad_request', { detail: 'A field came twice.' });
  return form;
}

function malformed(detail: string): Refused {
  return new Refused('malformed_json', { detail });
}
