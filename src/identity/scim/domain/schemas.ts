import { CORE_SCHEMAS } from './attribute-path.js';

interface Traits {
  type?: 'string' | 'boolean' | 'reference' | 'complex';
  required?: true;
  multiValued?: true;
  caseExact?: true;
  mutability?: 'readOnly' | 'immutable';
  uniqueness?: 'server';
  referenceTypes?: string[];
  canonicalValues?: string[];
  subAttributes?: object[];
}

/** With the characteristics that a text has unless it says otherwise (RFC 7643 section 2.2). */
function attribute(name: string, description: string, traits: Traits = {}): object {
  return {
    name,
    type: traits.type ?? 'string',
    multiValued: traits.multiValued ?? false,
    description,
    required: traits.required ?? false,
    ...(traits.type === 'complex' || traits.type === 'boolean' ? {} : { caseExact: traits.caseExact ?? false }),
    mutability: traits.mutability ?? 'readWrite',
    returned: 'default',
    uniqueness: traits.uniqueness ?? 'none',
    ...(traits.referenceTypes && { referenceTypes: traits.referenceTypes }),
    ...(traits.canonicalValues && { canonicalValues: traits.canonicalValues }),
    ...(traits.subAttributes && { subAttributes: traits.subAttributes }),
  };
}

const EXTERNAL_ID = attribute('externalId', "The identity provider's own id.", { caseExact: true });

/** `active` is declared as required, because it always has a value: a client cannot remove it. */
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

/** RFC 7643 section 7. @param base address of the routes */
export function schemas(base: string): { id: string }[] {
  return TYPES.map((type) => {
    const id = CORE_SCHEMAS[type.name];
    return { schemas: [SCHEMA], id, ...type, meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` } };
  });
}

/** RFC 7643 section 6. */
export function resourceTypes(base: string): { id: string }[] {
  return TYPES.map(({ name }) => {
    const meta = { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` };
    const named = { id: name, name, endpoint: `/${name}s` };
    return { schemas: [RESOURCE_TYPE], ...named, schema: CORE_SCHEMAS[name], meta };
  });
}

/** RFC 7643 section 5. */
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

/** Resources in one answer. */
export const MOST_RESULTS = 200;
