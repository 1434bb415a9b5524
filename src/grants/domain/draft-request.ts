import { getOrInsert } from '../../kernel/collections.js';
import type { FieldError } from '../../kernel/errors.js';
import type { Draft, Membership } from '../../trino-rules/answers/draft.js';
import { type MaskConflict, MaskConflicts } from '../../trino-rules/model/mask-conflicts.js';
import { compareNames, kindOf, principalIn, namesOf } from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, principalText } from '../../trino-rules/model/principal.js';
import { Principals } from '../../trino-rules/model/principals.js';
import type { Snapshot, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';
import type { NewGrant } from './grant.js';
import type { NewPolicy } from './policy.js';

/** Changes to preview. Existing rows are given by id; a policy with `id: null` is new. */
export interface DraftRequest extends Pick<
  Draft,
  'revokedGrantIds' | 'deletedPolicyIds' | 'addedMembers' | 'removedMembers'
> {
  grants: readonly NewGrant[];
  policies: readonly { id: number | null; policy: NewPolicy }[];
}

export interface DraftCheck {
  code: 'name_taken' | 'mask_conflict' | 'rules_too_large' | 'rules_unprovable' | 'guarantee_broken';
  message: string;
}

/** Makes a draft of a request. New rows get negative ids, which no recorded row has. */
export function draftOfRequest({
  grants,
  revokedGrantIds,
  policies,
  deletedPolicyIds,
  addedMembers,
  removedMembers,
}: DraftRequest): Draft {
  return {
    ...{ revokedGrantIds, deletedPolicyIds, addedMembers, removedMembers },
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

/** Estimates by how much a draft makes the rules grow, as `SnapshotStore.growthSince` does for written rows. */
export function growthOf(snapshot: Snapshot, { grants, policies, addedMembers }: Draft): Growth {
  const principals = new Principals(snapshot);
  const bytesOf = (principal: PolicyPrincipal | undefined): number =>
    principal === undefined
      ? 0
      : getOrInsert(bytesByPrincipal, principalText(principal), () => {
          const names = [...principals.members(principal).values()].map(({ name }) => name);
          return names.reduce((sum, name) => sum + Buffer.byteLength(name) + 1, 0);
        });
  const bytesByPrincipal = new Map<string, number>();
  const grantBytes = grants.map(
    ({ principal, resource }) =>
      400 +
      4 * Buffer.byteLength(namesOf(resource).join('')) +
      8 * (bytesOf(principal) + bytesOf(principalIn(resource))),
  );
  return {
    bytes: grantBytes.reduce((sum, each) => sum + each, 0),
    isWide:
      policies.length > 0 || addedMembers.length > 0 || grants.some(({ resource }) => kindOf(resource) !== 'table'),
  };
}

/** The data catalogs that are named in grants, policies or settings. */
export function knownCatalogs({ grants, policies, settings }: Snapshot): string[] {
  const namedCatalogs = [...grants, ...policies].flatMap(({ resource }) => resource.catalog ?? []);
  const allCatalogs = new Set([...namedCatalogs, ...settings.readableCatalogs, ...settings.writableCatalogs]);
  return [...allCatalogs].filter((name) => name !== 'system' && name !== settings.metadataCatalog).sort(compareNames);
}

/** Yields for each written policy the mask conflict that it causes, or null. */
export function* maskChecks(
  snapshot: Snapshot,
  draftSnapshot: Snapshot,
  writtenPolicies: readonly SnapshotPolicy[],
): Generator<DraftCheck | null> {
  const conflicts = new MaskConflicts(draftSnapshot);
  const formerPolicies = new Map(snapshot.policies.map((policy) => [policy.id, policy]));
  for (const { id } of writtenPolicies) {
    const conflict = conflicts.conflictOf(id, formerPolicies.get(id));
    yield conflict && maskCheck(conflict);
  }
}

function maskCheck({ otherPolicyId: id, principal }: MaskConflict): DraftCheck {
  const policy = id < 0 ? 'another new policy' : `policy ${id}`;
  const message = `${policy} masks the same column at the same distance for ${principal}`;
  return { code: 'mask_conflict', message };
}

/** Errors for ids without a row, and for rows that the draft changes twice. */
export function rowErrors(
  snapshot: Snapshot,
  { revokedGrantIds, policies, deletedPolicyIds, addedMembers, removedMembers }: DraftRequest,
): FieldError[] {
  const policyIds = policies.map(({ id }) => id);
  return [
    ...policyConflicts(snapshot, policyIds, deletedPolicyIds),
    ...memberConflicts(addedMembers, removedMembers),
    ...missingRowErrors('revoke.*', revokedGrantIds, snapshot.grants, 'live grant'),
    ...missingRowErrors('policies.put.*.id', policyIds, snapshot.policies, 'policy'),
    ...missingRowErrors('policies.delete.*', deletedPolicyIds, snapshot.policies, 'policy'),
    ...missingMemberErrors(snapshot, addedMembers, 'add'),
    ...missingMemberErrors(snapshot, removedMembers, 'remove'),
  ];
}

function policyConflicts(
  { policies }: Snapshot,
  policyIds: readonly (number | null)[],
  deletedPolicyIds: readonly number[],
): FieldError[] {
  const lastIndexById = new Map(policyIds.map((id, i) => [id, i]));
  const putIds = new Set<number | null>(policies.flatMap(({ id }) => (lastIndexById.has(id) ? [id] : [])));
  const fieldPaths = [
    ...policyIds.flatMap((id, i) => (putIds.has(id) && lastIndexById.get(id) !== i ? [`policies.put.${i}.id`] : [])),
    ...deletedPolicyIds.flatMap((id, i) => (putIds.has(id) ? [`policies.delete.${i}`] : [])),
  ];
  return fieldPaths.map((field) => ({ field, message: 'names a policy that another part replaces' }));
}

function memberConflicts(addedMembers: readonly Membership[], removedMembers: readonly Membership[]): FieldError[] {
  const keyOf = ({ group, member }: Membership): string => `${group} ${principalText(member)}`;
  const addedKeys = new Set(addedMembers.map(keyOf));
  return removedMembers.flatMap((membership, i) =>
    addedKeys.has(keyOf(membership)) ? [{ field: `members.remove.${i}`, message: 'is added by another part' }] : [],
  );
}

function missingMemberErrors({ groups, users }: Snapshot, members: readonly Membership[], field: string): FieldError[] {
  const groupIds = members.map(({ group }) => group);
  const userIds = members.map(({ member }) => (member.type === 'user' ? member.id : null));
  return [
    ...missingRowErrors(`members.${field}.*.group_id`, groupIds, groups, 'group'),
    ...missingRowErrors(`members.${field}.*.user_id`, userIds, users, 'user'),
  ];
}

/** @param field path of the field, with an asterisk for the index in the list */
function missingRowErrors(
  field: string,
  namedIds: readonly (number | null)[],
  rows: readonly { id: number }[],
  noun: string,
): FieldError[] {
  const idSet = new Set<number | null>(rows.map(({ id }) => id));
  return namedIds.flatMap((id, i) =>
    id === null || idSet.has(id) ? [] : [{ field: field.replace('*', String(i)), message: `there is no such ${noun}` }],
  );
}
