import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/internal';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { plainValue } from '../../kernel/json-node.js';
import { type JsonLimits, readJson } from '../../kernel/json-reader.js';
import { HandlerMarks } from '../handler-marks.js';
import { WorkBudgets } from '../work-budgets.js';

type BodyLimits = Pick<JsonLimits, 'maxValues' | 'maxMembers' | 'maxKeys'> & { bytes: number };

/**
 * What a body may have: bytes, JSON values, and fields of all objects together. A batch of a thousand grants has 16,000 values, of which
 * validation takes some 20 microseconds each, with nothing else running meanwhile. Other bodies have four fields, and unknown ones cost
 * most to validate. A login has two texts, and comes from anybody.
 */
const ADMINISTRATION: BodyLimits = { bytes: 1024 * 1024, maxValues: 20_000, maxMembers: Infinity };
const QUERIES = { bytes: Math.floor(1.1 * 1024 * 1024), maxValues: 20_000, maxMembers: 100 };
const SIGN_IN = { bytes: 16 * 1024, maxValues: 200, maxMembers: 100 };
/** A token of the identity provider's with 200 groups has 9 kB. */
const EXCHANGE = { ...SIGN_IN, bytes: 24 * 1024 };
/**
 * A group of 10,000 members by SCIM, put as it was read, has 889 kB and 30,000 values; a grant of a snapshot has some ten values. No
 * object of theirs has many keys, which cost more than entries of lists.
 */
const BULK = { bytes: 8 * 1024 * 1024, maxValues: 200_000, maxMembers: Infinity, maxKeys: 1_000 };

/** RFC 7644 section 8.1; its clients send the other type, too. */
const SCIM_JSON = 'application/scim+json';

/** Providers send this alone (OpenID Connect Back-Channel Logout 1.0 section 2.5). */
const FORM = 'application/x-www-form-urlencoded';
const FORM_ROUTE = '/api/auth/oidc/backchannel-logout';

const EXCHANGE_ROUTE = '/api/auth/oidc/exchange';

const SNAPSHOT_ROUTE = '/api/admin/snapshot';

/** The prefix of routes whose bodies are SCIM's. */
const SCIM_ROUTES = '/api/scim/';

/** @param path of the route, not of the request, which may be escaped (docs/decisions/0005). */
function limitsOf(path: string): BodyLimits {
  if (path === SNAPSHOT_ROUTE || path.startsWith(SCIM_ROUTES)) return BULK;
  if (path.startsWith('/api/admin/')) return ADMINISTRATION;
  if (path === EXCHANGE_ROUTE) return EXCHANGE;
  return path.startsWith('/api/queries') ? QUERIES : SIGN_IN;
}

function typesOf(path: string): string[] {
  if (path === FORM_ROUTE) return [FORM];
  return path.startsWith(SCIM_ROUTES) ? ['application/json', SCIM_JSON] : ['application/json'];
}

/** Fastify would read bodies before authentication: so no method has one for it (see JsonBodyGuard). */
export function leaveBodiesUnread(server: FastifyInstance): void {
  for (const method of server.supportedMethods) {
    server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

/**
 * Reads the body where the handler has a parameter for it, and nowhere else: after the access guard, so that the bodies of
 * unauthenticated requests are never read, and before validation. A guard and not an interceptor, because the first
 * interceptor adds observables to every request.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  // As Nest's own router reads them: `<kind>:<position>` of each decorated parameter.
  private readonly takesBody = new HandlerMarks(({ name }, controller) =>
    Object.keys((Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) as object | undefined) ?? {}).some((key) =>
      key.startsWith(`${RouteParamtypes.BODY}:`),
    ),
  );

  constructor(private readonly budgets: WorkBudgets) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return !this.takesBody.of(context) || this.readBody(context.switchToHttp());
  }

  private async readBody(http: ReturnType<ExecutionContext['switchToHttp']>): Promise<true> {
    const request = http.getRequest<FastifyRequest>();
    if (request.headers.expect?.toLowerCase() === '100-continue') http.getResponse<FastifyReply>().raw.writeContinue();
    request.body = await readJsonBody(request, this.budgets);
    return true;
  }
}

/**
 * The body: JSON only (of one route a form), in UTF-8 only, one object, each key once, within the limits of its path; undefined
 * where there is none.
 * `JSON.parse` takes duplicate keys and lone surrogates.
 * @throws Refused
 */
export async function readJsonBody(request: FastifyRequest, budgets: WorkBudgets): Promise<unknown> {
  const path = request.routeOptions.url ?? '';
  const limits = limitsOf(path);
  const bytes = await readBytes(request, limits.bytes);
  if (bytes.length === 0) return undefined;
  const encoding = request.headers['content-encoding'];
  const types = typesOf(path);
  if (!isJson(request.headers['content-type'], types) || (encoding !== undefined && encoding !== 'identity')) {
    throw new Refused('unsupported_media_type', {
      detail: `Bodies are ${types.join(' or ')} in UTF-8, not compressed.`,
      mediaTypes: types,
    });
  }
  return budgets.parsing(request, () => (path === FORM_ROUTE ? parseForm(bytes) : parseBody(bytes, limits)));
}

/** By events: Node's iterator takes as long as the rest of reading a small body. */
async function readBytes({ raw, headers }: FastifyRequest, limit: number): Promise<Buffer> {
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (refused: Refused): void => {
      raw.off('data', add);
      raw.resume(); // discards the rest, so that the connection stays usable
      reject(refused);
    };
    const endedEarly = (cause?: unknown): void =>
      refuse(new Refused('bad_request', { detail: 'The body ended early.', cause }));
    const add = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > limit) refuse(tooLarge(limit));
    };
    if (raw.destroyed) endedEarly();
    raw.on('data', add);
    raw.once('end', () => {
      resolve(Buffer.concat(chunks));
    });
    raw.once('error', endedEarly);
  });
}

function tooLarge(limit: number): Refused {
  return new Refused('payload_too_large', { detail: `A body here has at most ${limit} bytes.` });
}

/**
 * One of the types, with no parameter or with charset=utf-8 (RFC 8259 section 8.1). Split, because one expression would take
 * time as the square of the header's length.
 */
function isJson(contentType: string | undefined, types: readonly string[]): boolean {
  const [type, ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    types.includes(type ?? '') &&
    parameters.every((parameter) => ['', 'charset=utf-8', 'charset="utf-8"'].includes(parameter))
  );
}

function parseBody(bytes: Buffer, { bytes: _, ...limits }: BodyLimits): unknown {
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

/** Fields as an object. @throws Refused where one comes twice */
function parseForm(bytes: Buffer): unknown {
  const fields = [...new URLSearchParams(bytes.toString())];
  const form = Object.fromEntries(fields);
  if (Object.keys(form).length < fields.length) throw new Refused('bad_request', { detail: 'A field came twice.' });
  return form;
}

function malformed(detail: string): Refused {
  return new Refused('malformed_json', { detail });
}
