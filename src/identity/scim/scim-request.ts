import { timingSafeEqual } from 'node:crypto';
import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { matchesEntityTag } from '../../kernel/entity-tag.js';
import { Refused } from '../../kernel/errors.js';
import { secretDigest } from '../../kernel/secret.js';
import { bearerToken } from '../../platform/http/bearer-token.js';
import { clientAddress } from '../../platform/http/client-address.js';
import { BodyLimits, BULK } from '../../platform/http/body-limits.js';
import type { ErrorForm, Problem } from '../../platform/http/problem.js';
import { Settings } from '../../platform/settings/settings.js';
import { parametersOf, selectAttributes, type Selection, selectionOf } from './domain/list-request.js';
import type { ResourceForm } from './domain/resources.js';

const SCIM_PATH = '/api/scim/v2';
const SCIM_TYPE = 'application/scim+json';

/** SCIM's codes (RFC 7644 section 3.12) by the service's own codes. */
const SCIM_TYPES: Partial<Record<Problem['code'], string>> = {
  malformed_json: 'invalidSyntax',
  name_taken: 'uniqueness',
  account_has_password: 'mutability',
};

/** Errors of SCIM's routes. Clients refuse members that SCIM does not define, so only the log contains the service's own code. */
export const SCIM_ERRORS: ErrorForm = {
  path: SCIM_PATH,
  type: `${SCIM_TYPE}; charset=utf-8`,
  of: (problem) => {
    const { status, detail, code } = problem;
    const scimType = 'scimType' in problem ? problem.scimType : SCIM_TYPES[code];
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType !== undefined && { scimType }),
      detail,
    };
  },
};

/** Admits requests with the identity provider's token. Without the setting SCIM's routes do not exist. */
@Injectable()
export class ScimGuard implements CanActivate {
  private readonly digests: readonly Buffer[];

  constructor(settings: Settings) {
    this.digests = settings.scim.tokens.map((token) => secretDigest(token.reveal()));
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.digests.length === 0) throw new Refused('not_found');
    const http = context.switchToHttp();
    const token = bearerToken(http.getRequest<FastifyRequest>());
    if (token === null) throw new Refused('token_missing', { detail: 'The token of SCIM is missing.' });
    const shown = secretDigest(token);
    // All tokens are compared, so that the time does not reveal which one matches.
    const isOurs = this.digests.map((digest) => timingSafeEqual(digest, shown)).includes(true);
    if (!isOurs) throw new Refused('token_invalid', { detail: 'The token of SCIM is another one.', reason: 'scim' });
    void http.getResponse<FastifyReply>().type(SCIM_ERRORS.type);
    return true;
  }
}

/** Accepts `application/scim+json` (RFC 7644 section 8.1), and `application/json`, which clients also send. */
export const ScimBody = (): MethodDecorator => BodyLimits({ ...BULK, types: ['application/json', SCIM_TYPE] });

/** @throws Refused `precondition_failed` if the client knows another version of the resource */
export type VersionCheck<T> = (resource: T) => void;

/** A request of the identity provider. */
export class ScimRequest {
  /** Address of the routes, as the client sees it. */
  readonly base: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly selection: Selection;
  /** Any JSON object. */
  readonly body: unknown;
  readonly by: AuditContext;

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {
    this.base = `${request.protocol}://${request.host}${SCIM_PATH}`;
    this.parameters = parametersOf(request.query);
    this.selection = selectionOf(this.parameters.get('attributes'), this.parameters.get('excludedattributes'));
    this.body = request.body;
    this.by = { actor: null, origin: { address: clientAddress(request.ip), requestId: request.id } };
  }

  /** Checks the request's `If-Match`. @param form makes the resource's answer, which contains its version */
  versionCheck<T>(form: (resource: T, base: string) => ResourceForm): VersionCheck<T> {
    return (resource) => {
      const { version } = form(resource, this.base).meta;
      const known = this.request.headers['if-match'];
      if (known === undefined || matchesEntityTag(known, version)) return;
      throw new Refused('precondition_failed', { detail: `The resource has another version: ${version}.` });
    };
  }

  /** The answer with its ETag, and with its address for 201; 304 if the client has that version (RFC 7644 section 3.14). */
  answer(resource: ResourceForm, status: 200 | 201 = 200): object | undefined {
    const { location, version } = resource.meta;
    const known = this.request.method === 'GET' ? this.request.headers['if-none-match'] : undefined;
    const isKnown = known !== undefined && matchesEntityTag(known, version);
    void this.reply.status(isKnown ? 304 : status).header('ETag', version);
    if (status === 201) void this.reply.header('Location', location);
    return isKnown ? undefined : selectAttributes(resource, this.selection);
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
