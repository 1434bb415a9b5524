import { getOrInsert } from '../../kernel/collections.js';
import { isOpenSystemNode } from '../model/resource.js';
import { decide, privilegesGiving } from '../model/decision.js';
import { type Access, accessToColumn, intentAt, NO_ACCESS, type Origin } from '../model/intent.js';
import { compareNames, kindOf, type Node, nodeKey, pathTo } from '../model/node.js';
import { type NamedPrincipal, principalText } from '../model/principal.js';
import type { Member } from '../model/principals.js';
import { type Privilege, PRIVILEGES, privilegesGivenBy } from '../model/privilege.js';
import { grantableRightOf } from '../model/rights.js';
import { columnOf, isNodeQuestion, type Question, type RightQuestion } from '../model/question.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import { AccessIndex, accessKeysOf } from './access-index.js';
import { effectiveAccess, givingGrants } from './effective-access.js';

/** A principal with the right in question, at the node itself or inside it. */
export interface Holder {
  principal: NamedPrincipal;
  /** All access at the node; empty for questions without a node, and if the principal has access only inside the node. */
  access: Access;
  /** The grants that give the access at the node or below the node; empty if the access follows from settings or from another right. */
  origins: Origin<SnapshotGrant>[];
  /** Access to parts of a catalog or schema, as far as it exceeds the access to the whole. */
  inside: InnerAccess[];
}

export interface InnerAccess {
  resource: Node;
  privileges: readonly Privilege[];
}

/** A question about one right, or about any privilege at a node (`anything`). */
export type HolderQuestion = Question | { about: 'anything'; resource: Node; column?: string | undefined };

type NodeQuestion = Exclude<HolderQuestion, RightQuestion>;

/**
 * All accounts, engine principals and service accounts with the right, ordered by name. Groups are not listed, only their members.
 */
export function holders(index: AccessIndex, question: HolderQuestion): Holder[] {
  return [...eachHolder(index, question)].flat();
}

/** Yields a list for each tested principal: one holder, or nothing if the principal lacks the right. The caller can pause after each list. */
export function* eachHolder(index: AccessIndex, question: HolderQuestion): Generator<Holder[]> {
  const grantableRight = question.about === 'anything' ? null : grantableRightOf(question, index.principals);
  const node = grantableRight?.resource ?? (isNodeQuestion(question) ? question.resource : null);
  const isPathEnough = node !== null && !isOpenSystemNode(node) && node.as === undefined;
  const relevantIndex = isPathEnough ? new AccessIndex(index.snapshotOnPath(node), index.principals) : index;
  const dataQuestion =
    question.about === 'anything' || (grantableRight === null && isNodeQuestion(question)) ? question : null;
  const needsAccessBelow = isPathEnough && dataQuestion !== null && mayHaveAccessBelow(dataQuestion);
  const searchedIndex = needsAccessBelow ? index : relevantIndex;
  const accessKeyOf = accessKeysOf([searchedIndex]);
  const holdersByKey = new Map<string, HolderAccess>();
  for (const principal of candidates(searchedIndex, node?.as !== undefined)) {
    const accessOfPrincipal = (): HolderAccess => {
      if (dataQuestion === null) return accessByRight(relevantIndex, principal, question as Question);
      const accessToWhole = accessToData(relevantIndex, principal, dataQuestion);
      return needsAccessBelow ? withInnerAccess(index, principal, dataQuestion, accessToWhole) : accessToWhole;
    };
    const key = accessKeyOf(principal);
    const holderAccess = key === null ? accessOfPrincipal() : getOrInsert(holdersByKey, key, accessOfPrincipal);
    yield holderAccess === null ? [] : [{ principal, ...holderAccess }];
  }
}

type HolderAccess = Omit<Holder, 'principal'> | null;

function accessToData(index: AccessIndex, principal: Member, question: NodeQuestion): HolderAccess {
  const intent = intentAt(index.snapshotFor(principal), principal, question.resource, index.principals);
  const access = accessToColumn(intent, question.about === 'anything' ? question.column : columnOf(question));
  const privileges = access.privileges.filter((privilege) => relevantPrivileges(question).includes(privilege));
  return privileges.length === 0 ? null : { access, origins: givingGrants({ ...intent, privileges }), inside: [] };
}

function relevantPrivileges(question: NodeQuestion): readonly Privilege[] {
  return question.about === 'anything' ? PRIVILEGES : privilegesGiving(question);
}

function mayHaveAccessBelow(question: NodeQuestion): boolean {
  const column = question.about === 'anything' ? question.column : columnOf(question);
  return column === undefined && ['catalog', 'schema'].includes(kindOf(question.resource));
}

function withInnerAccess(
  index: AccessIndex,
  principal: Member,
  question: NodeQuestion,
  accessToWhole: HolderAccess,
): HolderAccess {
  const containerKey = nodeKey(question.resource);
  const isBelow = (resource: Node): boolean =>
    nodeKey(resource) !== containerKey && pathTo(resource).some((each) => nodeKey(each) === containerKey);
  const privilegesOnWholeNode = privilegesGivenBy(accessToWhole?.access.privileges ?? []);
  const innerEntries = effectiveAccess(index, principal).flatMap(({ resource, access, origins }) => {
    // At a table, OWNERSHIP means TABLE_OWNERSHIP, and is no ownership of a schema.
    const isTable = resource.table !== undefined;
    const privilegesOnlyBelow = access.privileges.filter(
      (each) =>
        relevantPrivileges(question).includes(each) &&
        !privilegesOnWholeNode.has(isTable && each === 'OWNERSHIP' ? 'TABLE_OWNERSHIP' : each),
    );
    return isBelow(resource) && privilegesOnlyBelow.length > 0 && !(isTable && question.about === 'schema-ownership')
      ? [{ resource, privileges: privilegesOnlyBelow, origins }]
      : [];
  });
  if (innerEntries.length === 0) return accessToWhole;
  const inside = innerEntries.map(({ resource, privileges }) => ({ resource, privileges }));
  if (accessToWhole !== null) return { ...accessToWhole, inside };
  // The key includes the group, because one grant can apply to a principal through several groups.
  const key = ({ source, through }: Origin<SnapshotGrant>): string =>
    JSON.stringify([source.id, typeof through === 'object' ? through.group.id : through]);
  const origins = new Map(
    innerEntries.flatMap((innerAccess) => innerAccess.origins).map((origin) => [key(origin), origin]),
  );
  return { access: NO_ACCESS, origins: [...origins.values()], inside };
}

function accessByRight({ snapshot, principals }: AccessIndex, principal: Member, question: Question): HolderAccess {
  const { allowed, grants } = decide(snapshot, principal, question, principals);
  return allowed ? { access: NO_ACCESS, origins: grants, inside: [] } : null;
}

function candidates({ snapshot: { grants, settings }, principals }: AccessIndex, isImpersonation: boolean): Member[] {
  const serviceAccounts = settings.serviceAccounts.map((name): Member => ({ type: 'engine', name }));
  const grantees = new Map(
    grants
      .filter(({ resource }) => !isImpersonation || resource.as !== undefined)
      .map(({ principal }) => [principalText(principal), principal]),
  );
  const membersByText = new Map(serviceAccounts.map((account) => [principalText(account), account]));
  for (const principal of grantees.values())
    for (const [text, member] of principals.members(principal)) membersByText.set(text, member);
  return [...membersByText.values()].sort((a, b) => compareNames(a.name, b.name));
}
