import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { matchesEntityTag } from '../../kernel/entity-tag.js';
import { Refused } from '../../kernel/errors.js';
import { BodyLimits, BULK } from '../../platform/http/body-limits.js';
import { clientAddress } from '../../platform/domain/client-address.js';
import { parametersOf } from './domain/list-request.js';
import type { ResourceForm } from './domain/resource-form.js';
import { SCIM_PATH } from './scim-error-form.js';
import { selected, type Selection, selectionOf } from './domain/selection.js';

/** RFC 7644 section 8.1; clients send the other type, too. */
export const ScimBody = (): MethodDecorator =>
  BodyLimits({ ...BULK, types: ['application/json', 'application/scim+json'] });

/** A request of the identity provider. Its body is whatever JSON object it sent. */
export interface ScimRequest {
  /** Address of the routes, as the client has it. */
  base: string;
  parameters: ReadonlyMap<string, string>;
  selection: Selection;
  body: unknown;
  by: AuditContext;
  /** @throws Refused `precondition_failed` where the client knows another version of the resource */
  check: (resource: ResourceForm) => void;
  /** A resource as it is answered, with its ETag; a made one with its address; 304 where the client has that version (RFC 7644 section 3.14). */
  answer: (resource: ResourceForm, status?: 200 | 201) => object | undefined;
  /** 204, with the ETag of the resource. */
  answerNothing: (resource: ResourceForm) => void;
}

/** Refuses a version of a resource that is not the one that a client knows. */
export type VersionCheck<T> = (resource: T) => void;

/** The check of a request, for resources that are answered in this form. */
export function versionCheck<T>(
  { base, check }: ScimRequest,
  form: (resource: T, base: string) => ResourceForm,
): VersionCheck<T> {
  return (resource) => check(form(resource, base));
}

/** The parameter that holds a ScimRequest. */
export const CurrentScimRequest = createParamDecorator((_: unknown, context: ExecutionContext): ScimRequest => {
  const http = context.switchToHttp();
  return scimRequestOf(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
});

function scimRequestOf(request: FastifyRequest, reply: FastifyReply): ScimRequest {
  const parameters = parametersOf(request.query);
  const selection = selectionOf(parameters.get('attributes'), parameters.get('excludedattributes'));
  return {
    base: `${request.protocol}://${request.host}${SCIM_PATH}`,
    parameters,
    selection,
    body: request.body,
    by: { actor: null, origin: { address: clientAddress(request.ip), requestId: request.id } },
    check: (resource) => checkVersion(request.headers['if-match'], resource),
    answer: (resource, status = 200) => {
      const { location, version } = resource.meta;
      const known = request.method === 'GET' ? request.headers['if-none-match'] : undefined;
      const isKnown = known !== undefined && matchesEntityTag(known, version);
      void reply.status(isKnown ? 304 : status).header('ETag', version);
      if (status === 201) void reply.header('Location', location);
      return isKnown ? undefined : selected(resource, selection);
    },
    answerNothing: ({ meta }) => void reply.status(204).header('ETag', meta.version),
  };
}

function checkVersion(known: string | undefined, { meta: { version } }: ResourceForm): void {
  if (known === undefined || matchesEntityTag(known, version)) return;
  throw new Refused('precondition_failed', { detail: `The resource has another version: ${version}.` });
}
