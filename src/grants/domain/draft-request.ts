import { getOrInsert } from '../../kernel/collections.js';
import type { FieldError } from '../../kernel/errors.js';
import type { Draft, Membership } from '../../trino-rules/answers/draft.js';
import { type MaskConflict, MaskConflicts } from '../../trino-rules/model/mask-conflicts.js';
import { compareNames, kindOf, namedBy, namesOf } from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, principalText } from '../../trino-rules/model/principal.js';
import { Principals } from '../../trino-rules/model/principals.js';
import type { Snapshot, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';
import type { NewGrant } from './grant.js';
import type { NewPolicy } from './policy.js';

/** Changes to preview: ids of rows, and `id: null` for a new policy. */
export interface DraftRequest extends Pick<Draft, 'revoked' | 'deleted' | 'joined' | 'left'> {
  grants: readonly NewGrant[];
  policies: readonly { id: number | null; policy: NewPolicy }[];
}

export interface DraftCheck {
  code: 'name_taken' | 'mask_conflict' | 'rules_too_large' | 'rules_unprovable' | 'guarantee_broken';
  message: string;
}

/** A draft whose new rows have negative ids, below those of all recorded rows. */
export function draftOfRequest({ grants, revoked, policies, deleted, joined, left }: DraftRequest): Draft {
  return {
    ...{ revoked, deleted, joined, left },
    grants: grants.map(({ principal, resource, privileges, expiresAt }, i) => ({
      id: -1 - i,
      ...{ principal, resource, privileges, expiresAt, revokedAt: null },
    })),
    policies: policies.map(({ id, policy: { rule, principal, except } }, i) => ({
      id: id ?? -1 - i,
      ...{ principal, except },
      ...rule,
    })),
  };
}

/** The same estimate for a draft as `SnapshotStore.growth` makes for written rows. */
export function growthOf(snapshot: Snapshot, { grants, policies, joined }: Draft): Growth {
  const principals = new Principals(snapshot);
  const bytesOf = (named: PolicyPrincipal | undefined): number =>
    named === undefined
      ? 0
      : getOrInsert(known, principalText(named), () => {
          const names = [...principals.members(named).values()].map(({ name }) => name);
          return names.reduce((sum, name) => sum + Buffer.byteLength(name) + 1, 0);
        });
  const known = new Map<string, number>();
  const bytes = grants.map(
    ({ principal, resource }) =>
      400 + 4 * Buffer.byteLength(namesOf(resource).join('')) + 8 * (bytesOf(principal) + bytesOf(namedBy(resource))),
  );
  return {
    bytes: bytes.reduce((sum, each) => sum + each, 0),
    isWide: policies.length > 0 || joined.length > 0 || grants.some(({ resource }) => kindOf(resource) !== 'table'),
  };
}

/** The data catalogs that a grant, a policy or a setting names. */
export function knownCatalogs({ grants, policies, settings }: Snapshot): string[] {
  const named = [...grants, ...policies].flatMap(({ resource }) => resource.catalog ?? []);
  const all = new Set([...named, ...settings.readableCatalogs, ...settings.writableCatalogs]);
  return [...all].filter((name) => name !== 'system' && name !== settings.metadataCatalog).sort(compareNames);
}

/** For each written policy its new mask conflict, or null. */
export function* maskChecks(
  before: Snapshot,
  after: Snapshot,
  written: readonly SnapshotPolicy[],
): Generator<DraftCheck | null> {
  const conflicts = new MaskConflicts(after);
  const former = new Map(before.policies.map((policy) => [policy.id, policy]));
  for (const { id } of written) {
    const conflict = conflicts.conflictOf(id, former.get(id));
    yield conflict && maskCheck(conflict);
  }
}

function maskCheck({ with: id, principal }: MaskConflict): DraftCheck {
  const other = id < 0 ? 'another new policy' : `policy ${id}`;
  return { code: 'mask_conflict', message: `${other} masks the same column at the same distance for ${principal}` };
}

/** Errors of rows that do not exist, and of rows that two parts of the draft change, because the result would depend on their order. */
export function rowErrors(before: Snapshot, { revoked, policies, deleted, joined, left }: DraftRequest): FieldError[] {
  const put = policies.map(({ id }) => id);
  return [
    ...repeatedPolicies(before, put, deleted),
    ...repeatedMembers(joined, left),
    ...missing('revoke.*', revoked, before.grants, 'live grant'),
    ...missing('policies.put.*.id', put, before.policies, 'policy'),
    ...missing('policies.delete.*', deleted, before.policies, 'policy'),
    ...missingMembers(before, joined, 'add'),
    ...missingMembers(before, left, 'remove'),
  ];
}

function repeatedPolicies(
  { policies }: Snapshot,
  put: readonly (number | null)[],
  deleted: readonly number[],
): FieldError[] {
  const places = new Map(put.map((id, i) => [id, i]));
  const replaced = new Set<number | null>(policies.flatMap(({ id }) => (places.has(id) ? [id] : [])));
  const fields = [
    ...put.flatMap((id, i) => (replaced.has(id) && places.get(id) !== i ? [`policies.put.${i}.id`] : [])),
    ...deleted.flatMap((id, i) => (replaced.has(id) ? [`policies.delete.${i}`] : [])),
  ];
  return fields.map((field) => ({ field, message: 'names a policy that another part replaces' }));
}

function repeatedMembers(joined: readonly Membership[], left: readonly Membership[]): FieldError[] {
  const keyOf = ({ group, member }: Membership): string => `${group} ${principalText(member)}`;
  const added = new Set(joined.map(keyOf));
  return left.flatMap((membership, i) =>
    added.has(keyOf(membership)) ? [{ field: `members.remove.${i}`, message: 'is added by another part' }] : [],
  );
}

function missingMembers({ groups, users }: Snapshot, members: readonly Membership[], part: string): FieldError[] {
  const groupIds = members.map(({ group }) => group);
  const userIds = members.map(({ member }) => (member.type === 'user' ? member.id : null));
  return [
    ...missing(`members.${part}.*.group_id`, groupIds, groups, 'group'),
    ...missing(`members.${part}.*.user_id`, userIds, users, 'user'),
  ];
}

/** @param field path of the field, with an asterisk for the index in the list */
function missing(
  field: string,
  ids: readonly (number | null)[],
  rows: readonly { id: number }[],
  what: string,
): FieldError[] {
  const known = new Set<number | null>(rows.map(({ id }) => id));
  return ids.flatMap((id, i) =>
    id === null || known.has(id) ? [] : [{ field: field.replace('*', String(i)), message: `there is no such ${what}` }],
  );
}
