import { createHash } from 'node:crypto';
import { CORE_SCHEMAS } from './attribute-path.js';
import type { ScimGroup } from './scim-group.js';
import type { ScimUser } from './scim-user.js';

/** A resource as it is answered. `version`: its ETag. */
export interface ResourceForm {
  id: string;
  meta: { location: string; version: string };
}

/** Unset attributes are left out (RFC 7643 section 2.5). @param base address of the routes */
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
    ...(user.groups.length > 0 && { groups: user.groups.map((group) => groupReference(group, base)) }),
  };
  const meta = { resourceType: 'User', created: user.createdAt, lastModified: user.changedAt };
  const location = `${base}/Users/${user.id}`;
  return { ...form, meta: { ...meta, location, version: versionOf(JSON.stringify(form)) } };
}

/** Its version is a number that rises, so that it can be compared without the members. @param base address of the routes */
export function groupForm(group: ScimGroup, base: string): ResourceForm {
  const members = (group.members ?? []).map((id) => ({
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

function groupReference({ id, name }: { id: number; name: string }, base: string): object {
  return { value: String(id), $ref: `${base}/Groups/${id}`, display: name };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
}

/** A weak validator (RFC 9110 section 8.8.1): of what a resource says, not of its bytes. */
function versionOf(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}
