import { createHash } from 'node:crypto';
import { CORE_SCHEMAS } from './filter.js';
import type { ScimGroup } from './group-changes.js';
import { MAX_RESULTS } from './list-request.js';
import type { ScimUser } from './user-attributes.js';

/** The body of an answer. `version` is the resource's ETag. */
export interface ResourceForm {
  id: string;
  meta: { location: string; version: string };
}

/** A user in an answer, without unset attributes (RFC 7643 section 2.5). @param baseUrl address of SCIM's routes */
export function userForm(user: ScimUser, baseUrl: string): ResourceForm {
  const name = withoutNulls(user.name);
  const form = {
    schemas: [CORE_SCHEMAS.User],
    id: String(user.id),
    ...withoutNulls({ externalId: user.externalId }),
    userName: user.userName,
    ...(Object.keys(name).length > 0 && { name }),
    ...withoutNulls({ displayName: user.displayName }),
    ...(user.emails.length > 0 && { emails: user.emails.map(withoutNulls) }),
    active: user.active,
    ...(user.groups.length > 0 && {
      groups: user.groups.map(({ id, name }) => ({
        value: String(id),
        $ref: `${baseUrl}/Groups/${id}`,
        display: name,
      })),
    }),
  };
  const meta = { resourceType: 'User', created: user.createdAt, lastModified: user.changedAt };
  const location = `${baseUrl}/Users/${user.id}`;
  const digest = createHash('sha256').update(JSON.stringify(form)).digest('base64url');
  // `version` is a weak ETag (RFC 9110 section 8.8.1).
  return { ...form, meta: { ...meta, location, version: `W/"${digest.slice(0, 22)}"` } };
}

/** A group in an answer. Its version is a stored number, so that the version is known without reading members. @param baseUrl address of SCIM's routes */
export function groupForm(group: ScimGroup, baseUrl: string): ResourceForm {
  const members = (group.memberIds ?? []).map((id) => ({
    ...{ value: String(id), $ref: `${baseUrl}/Users/${id}`, type: 'User' },
  }));
  const location = `${baseUrl}/Groups/${group.id}`;
  const meta = { resourceType: 'Group', created: group.createdAt, lastModified: group.changedAt };
  return {
    ...{ schemas: [CORE_SCHEMAS.Group], id: String(group.id), ...withoutNulls({ externalId: group.externalId }) },
    ...{ displayName: group.name, ...(members.length > 0 && { members }) },
    meta: { ...meta, location, version: `W/"${group.version}"` },
  };
}

function withoutNulls<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
}

/** An attribute with the default characteristics of RFC 7643 section 2.2, overridden by `characteristics`. */
function attribute(name: string, description: string, characteristics: Record<string, unknown> = {}): object {
  const { type = 'string', ...otherCharacteristics } = characteristics;
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
    ...otherCharacteristics,
  };
}

const EXTERNAL_ID = attribute('externalId', "The identity provider's own id.", { caseExact: true });

/** The attributes of a user in the schema. `active` is required, because a client cannot unset it. */
const USER_ATTRIBUTES = [
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

const GROUP_ATTRIBUTES = [
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

const SCHEMA_URN = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const RESOURCE_TYPE_URN = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';

const RESOURCE_TYPES = [
  { name: 'User', description: 'An account', attributes: USER_ATTRIBUTES },
  { name: 'Group', description: 'A group of accounts', attributes: GROUP_ATTRIBUTES },
] as const;

/** The schemas (RFC 7643 section 7). @param baseUrl address of SCIM's routes */
export function schemas(baseUrl: string): { id: string }[] {
  return RESOURCE_TYPES.map((type) => {
    const id = CORE_SCHEMAS[type.name];
    const meta = { resourceType: 'Schema', location: `${baseUrl}/Schemas/${id}` };
    return { schemas: [SCHEMA_URN], id, ...type, meta };
  });
}

/** The resource types (RFC 7643 section 6). */
export function resourceTypes(baseUrl: string): { id: string }[] {
  return RESOURCE_TYPES.map(({ name }) => {
    const meta = { resourceType: 'ResourceType', location: `${baseUrl}/ResourceTypes/${name}` };
    const typeFields = { id: name, name, endpoint: `/${name}s` };
    return { schemas: [RESOURCE_TYPE_URN], ...typeFields, schema: CORE_SCHEMAS[name], meta };
  });
}

/** The service provider configuration (RFC 7643 section 5). */
export function serviceProviderConfig(baseUrl: string): object {
  const unsupportedFeature = { supported: false };
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...unsupportedFeature, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_RESULTS },
    changePassword: unsupportedFeature,
    sort: unsupportedFeature,
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token of the setting SCIM_TOKEN.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${baseUrl}/ServiceProviderConfig` },
  };
}
