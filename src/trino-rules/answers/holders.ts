import { getOrInsert } from '../../kernel/collections.js';
import { isOpenSystem } from '../model/resource.js';
import { decide, privilegesFor } from '../model/decision.js';
import { type Access, accessToColumn, intentAt, NO_ACCESS, type Origin } from '../model/intent.js';
import { compareNames, kindOf, type Node, nodeKey, pathTo } from '../model/node.js';
import { type NamedPrincipal, principalText } from '../model/principal.js';
import type { Member } from '../model/principals.js';
import { type Privilege, PRIVILEGES } from '../model/privilege.js';
import { grantedOnEngine } from '../model/rights.js';
import { columnOf, isAtNode as isAboutNode, type Question, type RightQuestion } from '../model/question.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import { AccessIndex, likenessIn } from './access-index.js';
import { effectiveAccess, givingGrants } from './effective-access.js';

/** A principal that may do what is asked, at the node or with something in it. */
export interface Holder {
  principal: NamedPrincipal;
  /** All access at the node; empty for rights, and where there is only access inside. */
  access: Access;
  /** The grants that give the access here or inside; empty if it follows from the settings or from other access. */
  origins: Origin<SnapshotGrant>[];
  /** Access to parts of a catalog or schema that the principal does not have on the whole. */
  inside: Inside[];
}

export interface Inside {
  resource: Node;
  privileges: readonly Privilege[];
}

/** `anything`: any privilege at the node. */
export type HolderQuestion = Question | { about: 'anything'; resource: Node; column?: string | undefined };

type NodeQuestion = Exclude<HolderQuestion, RightQuestion>;

export function isAtNode(question: HolderQuestion): question is NodeQuestion {
  return question.about === 'anything' || isAboutNode(question);
}

/**
 * All accounts, engine principals and service accounts that may do what is asked, on a whole catalog or schema or on something in it,
 * ordered by name. Groups appear only in the origins.
 */
export function holders(index: AccessIndex, question: HolderQuestion): Holder[] {
  return [...eachHolder(index, question)].flat();
}

/** The holders one by one. Yields empty lists between steps of the work. */
export function* eachHolder(index: AccessIndex, question: HolderQuestion): Generator<Holder[]> {
  const granted = question.about === 'anything' ? null : grantedOnEngine(question, index.principals);
  const node = granted?.resource ?? (isAtNode(question) ? question.resource : null);
  // Open schemas of `system`, impersonation, and rights that no grant gives depend on entries elsewhere.
  const isLocal = node !== null && !isOpenSystem(node) && node.as === undefined;
  const relevant = isLocal ? new AccessIndex(index.onPath(node), index.principals) : index;
  const data = question.about === 'anything' || (granted === null && isAtNode(question)) ? question : null;
  const isContainer = isLocal && data !== null && hasInside(data);
  const everybody = isContainer ? index : relevant;
  const likeness = likenessIn([everybody]);
  const known = new Map<string, Held>();
  for (const principal of candidates(everybody, node?.as !== undefined)) {
    const held = (): Held => {
      if (data === null) return holderOfRight(relevant, principal, question as Question);
      const whole = holderOfData(relevant, principal, data);
      return isContainer ? withInside(index, principal, data, whole) : whole;
    };
    const key = likeness(principal);
    const holder = key === null ? held() : getOrInsert(known, key, held);
    yield holder === null ? [] : [{ principal, ...holder }];
  }
}

type Held = Omit<Holder, 'principal'> | null;

function holderOfData(index: AccessIndex, principal: Member, question: NodeQuestion): Held {
  const intent = intentAt(index.of(principal), principal, question.resource, index.principals);
  const access = accessToColumn(intent, question.about === 'anything' ? question.column : columnOf(question));
  const privileges = access.privileges.filter((privilege) => askedIn(question).includes(privilege));
  return privileges.length === 0 ? null : { access, origins: givingGrants({ ...intent, privileges }), inside: [] };
}

function askedIn(question: NodeQuestion): readonly Privilege[] {
  return question.about === 'anything' ? PRIVILEGES : privilegesFor(question);
}

function hasInside(question: NodeQuestion): boolean {
  const column = question.about === 'anything' ? question.column : columnOf(question);
  return column === undefined && ['catalog', 'schema'].includes(kindOf(question.resource));
}

function withInside(index: AccessIndex, principal: Member, question: NodeQuestion, whole: Held): Held {
  const node = nodeKey(question.resource);
  const isBelow = (resource: Node): boolean =>
    nodeKey(resource) !== node && pathTo(resource).some((each) => nodeKey(each) === node);
  const had = whole?.access.privileges ?? [];
  const entries = effectiveAccess(index, principal).flatMap(({ resource, access, origins }) => {
    const more = access.privileges.filter((each) => askedIn(question).includes(each) && !had.includes(each));
    return isBelow(resource) && more.length > 0 ? [{ resource, privileges: more, origins }] : [];
  });
  if (entries.length === 0) return whole;
  const inside = entries.map(({ resource, privileges }) => ({ resource, privileges }));
  if (whole !== null) return { ...whole, inside };
  // One grant can reach a principal through several groups.
  const key = ({ source, through }: Origin<SnapshotGrant>): string =>
    JSON.stringify([source.id, typeof through === 'object' ? through.group.id : through]);
  const origins = new Map(entries.flatMap((entry) => entry.origins).map((origin) => [key(origin), origin]));
  return { access: NO_ACCESS, origins: [...origins.values()], inside };
}

function holderOfRight({ snapshot, principals }: AccessIndex, principal: Member, question: Question): Held {
  const { allowed, grants } = decide(snapshot, principal, question, principals);
  return allowed ? { access: NO_ACCESS, origins: grants, inside: [] } : null;
}

/** Members of all principals with grants, and service accounts, by name. */
function candidates({ snapshot: { grants, settings }, principals }: AccessIndex, isActing: boolean): Member[] {
  const accounts = settings.serviceAccounts.map((name): Member => ({ type: 'engine', name }));
  const named = new Map(
    grants
      .filter(({ resource }) => !isActing || resource.as !== undefined)
      .map(({ principal }) => [principalText(principal), principal]),
  );
  const byText = new Map(accounts.map((account) => [principalText(account), account]));
  for (const principal of named.values())
    for (const [text, member] of principals.members(principal)) byText.set(text, member);
  return [...byText.values()].sort((a, b) => compareNames(a.name, b.name));
}
