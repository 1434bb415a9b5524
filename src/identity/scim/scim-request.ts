import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { matchesEntityTag } from '../../kernel/entity-tag.js';
import { Refused } from '../../kernel/errors.js';
import { bearerToken, SharedTokens } from '../../platform/http/bearer-token.js';
import { clientAddress } from '../../platform/http/client-address.js';
import { BodyLimits, BULK } from '../../platform/http/body-limits.js';
import type { ErrorForm, Problem } from '../../platform/http/problem.js';
import { Settings } from '../../platform/settings/settings.js';
import { parametersOf, selectAttributes, type Selection, selectionOf } from './domain/list-request.js';
import type { ResourceForm } from './domain/resources.js';

const SCIM_PATH = '/api/scim/v2';
const SCIM_MEDIA_TYPE = 'application/scim+json';

/** SCIM's codes (RFC 7644 section 3.12) by the service's own codes. */
const SCIM_ERROR_TYPES: Partial<Record<Problem['code'], string>> = {
  malformed_json: 'invalidSyntax',
  name_taken: 'uniqueness',
  last_administrator: 'mutability',
};

/** The form of errors of SCIM's routes. The service's own error code is only logged, because clients refuse members that SCIM does not define. */
export const SCIM_ERRORS: ErrorForm = {
  path: SCIM_PATH,
  type: `${SCIM_MEDIA_TYPE}; charset=utf-8`,
  toBody: (problem) => {
    const { status, detail, code } = problem;
    const scimType = 'scimType' in problem ? problem.scimType : SCIM_ERROR_TYPES[code];
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType !== undefined && { scimType }),
      detail,
    };
  },
};

/** Admits requests with one of the configured tokens for SCIM. If none is configured, SCIM's routes answer 404. */
@Injectable()
export class ScimGuard implements CanActivate {
  private readonly tokens: SharedTokens;

  constructor({ scim }: Settings) {
    this.tokens = new SharedTokens(scim.tokens);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.tokens.isEmpty) throw new Refused('not_found');
    const http = context.switchToHttp();
    const token = bearerToken(http.getRequest<FastifyRequest>());
    if (token === null) throw new Refused('token_missing', { detail: 'The token of SCIM is missing.' });
    if (!this.tokens.include(token))
      throw new Refused('token_invalid', { detail: 'The token of SCIM is another one.', reason: 'scim' });
    void http.getResponse<FastifyReply>().type(SCIM_ERRORS.type);
    return true;
  }
}

/** Accepts `application/scim+json` (RFC 7644 section 8.1), and `application/json`, which clients also send. */
export const ScimBody = (): MethodDecorator => BodyLimits({ ...BULK, types: ['application/json', SCIM_MEDIA_TYPE] });

/** A check of the `If-Match` header. @throws Refused `precondition_failed` if the header names another version of the resource */
export type VersionCheck<T> = (resource: T) => void;

export class ScimRequest {
  /** Address of SCIM's routes, as the client sees it. */
  readonly baseUrl: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly selection: Selection;
  /** The parsed JSON, not validated yet. */
  readonly body: unknown;
  readonly context: AuditContext;

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {
    this.baseUrl = `${request.protocol}://${request.host}${SCIM_PATH}`;
    this.parameters = parametersOf(request.query);
    this.selection = selectionOf(this.parameters.get('attributes'), this.parameters.get('excludedattributes'));
    this.body = request.body;
    this.context = { actor: null, origin: { address: clientAddress(request.ip), requestId: request.id } };
  }

  /** Makes the check of the request's `If-Match`. @param toForm makes the answer for a resource, which contains its version */
  versionCheck<T>(toForm: (resource: T, baseUrl: string) => ResourceForm): VersionCheck<T> {
    return (resource) => {
      const { version } = toForm(resource, this.baseUrl).meta;
      const knownETags = this.request.headers['if-match'];
      if (knownETags === undefined || matchesEntityTag(knownETags, version)) return;
      throw new Refused('precondition_failed', { detail: `The resource has another version: ${version}.` });
    };
  }

  /** Answers with the resource and its ETag. A 201 also has its address. Answers 304 if the client has that version (RFC 7644 section 3.14). */
  answer(resource: ResourceForm, status: 200 | 201 = 200): object | undefined {
    const { location, version } = resource.meta;
    const knownETags = this.request.method === 'GET' ? this.request.headers['if-none-match'] : undefined;
    const isKnownVersion = knownETags !== undefined && matchesEntityTag(knownETags, version);
    void this.reply.status(isKnownVersion ? 304 : status).header('ETag', version);
    if (status === 201) void this.reply.header('Location', location);
    return isKnownVersion ? undefined : selectAttributes(resource, this.selection);
  }

  /** Answers 204 with the ETag of the resource. */
  answerNoContent({ meta }: ResourceForm): void {
    void this.reply.status(204).header('ETag', meta.version);
  }
}

export const CurrentScimRequest = createParamDecorator((_: unknown, context: ExecutionContext): ScimRequest => {
  const http = context.switchToHttp();
  return new ScimRequest(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});
