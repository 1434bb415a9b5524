import { createHash } from 'node:crypto';
import { CORE_SCHEMAS } from './filter.js';
import type { ScimGroup } from './group-changes.js';
import { MOST_RESULTS } from './list-request.js';
import type { ScimUser } from './user-attributes.js';

/** A resource in an answer. `version` is its ETag. */
export interface ResourceForm {
  id: string;
  meta: { location: string; version: string };
}

/** A user in an answer, without unset attributes (RFC 7643 section 2.5). @param base address of the routes */
export function userForm(user: ScimUser, base: string): ResourceForm {
  const name = defined(user.name);
  const form = {
    schemas: [CORE_SCHEMAS.User],
    id: String(user.id),
    ...defined({ externalId: user.externalId }),
    userName: user.userName,
    ...(Object.keys(name).length > 0 && { name }),
    ...defined({ displayName: user.displayName }),
    ...(user.emails.length > 0 && { emails: user.emails.map(defined) }),
    active: user.active,
    ...(user.groups.length > 0 && {
      groups: user.groups.map(({ id, name }) => ({ value: String(id), $ref: `${base}/Groups/${id}`, display: name })),
    }),
  };
  const meta = { resourceType: 'User', created: user.createdAt, lastModified: user.changedAt };
  const location = `${base}/Users/${user.id}`;
  const digest = createHash('sha256').update(JSON.stringify(form)).digest('base64url');
  // A weak ETag (RFC 9110 section 8.8.1).
  return { ...form, meta: { ...meta, location, version: `W/"${digest.slice(0, 22)}"` } };
}

/** A group in an answer. Its version is a rising number, so that it is known without the members. @param base address of the routes */
export function groupForm(group: ScimGroup, base: string): ResourceForm {
  const members = (group.memberIds ?? []).map((id) => ({
    ...{ value: String(id), $ref: `${base}/Users/${id}`, type: 'User' },
  }));
  const location = `${base}/Groups/${group.id}`;
  const meta = { resourceType: 'Group', created: group.createdAt, lastModified: group.changedAt };
  return {
    ...{ schemas: [CORE_SCHEMAS.Group], id: String(group.id), ...defined({ externalId: group.externalId }) },
    ...{ displayName: group.name, ...(members.length > 0 && { members }) },
    meta: { ...meta, location, version: `W/"${group.version}"` },
  };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
}

/** An attribute with the default characteristics of RFC 7643 section 2.2, overridden by `characteristics`. */
function attribute(name: string, description: string, characteristics: Record<string, unknown> = {}): object {
  const { type = 'string', ...others } = characteristics;
  return {
    name,
    type,
    multiValued: false,
    description,
    required: false,
    ...(type === 'complex' || type === 'boolean' ? {} : { caseExact: false }),
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...others,
  };
}

const EXTERNAL_ID = attribute('externalId', "The identity provider's own id.", { caseExact: true });

/** `active` is required because a client cannot remove it. */
const USER = [
  attribute('userName', 'The name on the engine, unique in any case.', { required: true, uniqueness: 'server' }),
  EXTERNAL_ID,
  attribute('name', "The parts of the person's name.", {
    type: 'complex',
    subAttributes: [
      attribute('formatted', 'The whole name.'),
      attribute('familyName', 'The family name.'),
      attribute('givenName', 'The given name.'),
    ],
  }),
  attribute('displayName', 'The name to show.'),
  attribute('emails', 'E-mail addresses.', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The address.'),
      attribute('type', 'What it is used for.', { canonicalValues: ['work', 'home', 'other'] }),
      attribute('primary', 'Whether it is the preferred one.', { type: 'boolean' }),
    ],
  }),
  attribute('active', 'Whether the person may sign in and query.', { type: 'boolean', required: true }),
  attribute('groups', 'The groups that have the user as a member.', {
    type: 'complex',
    multiValued: true,
    mutability: 'readOnly',
    subAttributes: [
      attribute('value', "The group's id.", { mutability: 'readOnly', caseExact: true }),
      attribute('$ref', "The group's address.", {
        ...{ type: 'reference', referenceTypes: ['Group'], mutability: 'readOnly', caseExact: true },
      }),
      attribute('display', "The group's name.", { mutability: 'readOnly' }),
    ],
  }),
];

const GROUP = [
  attribute('displayName', "The group's name, unique in any case.", { required: true, uniqueness: 'server' }),
  EXTERNAL_ID,
  attribute('members', 'The users in the group.', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', "The user's id.", { mutability: 'immutable', caseExact: true }),
      attribute('$ref', "The user's address.", {
        ...{ type: 'reference', referenceTypes: ['User'], mutability: 'immutable', caseExact: true },
      }),
      attribute('type', 'User, always.', { mutability: 'immutable', canonicalValues: ['User'] }),
    ],
  }),
];

const SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const RESOURCE_TYPE = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';

const TYPES = [
  { name: 'User', description: 'An account', attributes: USER },
  { name: 'Group', description: 'A group of accounts', attributes: GROUP },
] as const;

/** The schemas (RFC 7643 section 7). @param base address of the routes */
export function schemas(base: string): { id: string }[] {
  return TYPES.map((type) => {
    const id = CORE_SCHEMAS[type.name];
    return { schemas: [SCHEMA], id, ...type, meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` } };
  });
}

/** The resource types (RFC 7643 section 6). */
export function resourceTypes(base: string): { id: string }[] {
  return TYPES.map(({ name }) => {
    const meta = { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` };
    const named = { id: name, name, endpoint: `/${name}s` };
    return { schemas: [RESOURCE_TYPE], ...named, schema: CORE_SCHEMAS[name], meta };
  });
}

/** The service provider configuration (RFC 7643 section 5). */
export function serviceProviderConfig(base: string): object {
  const absent = { supported: false };
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...absent, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MOST_RESULTS },
    changePassword: absent,
    sort: absent,
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token of the setting SCIM_TOKEN.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}
