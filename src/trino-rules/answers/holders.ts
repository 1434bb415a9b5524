import { getOrInsert } from '../../kernel/get-or-insert.js';
import { isOpenSystem } from '../model/resource.js';
import { decide, privilegesFor } from '../model/decision.js';
import { type Access, accessToColumn, intentAt, NO_ACCESS, type Origin } from '../model/intent.js';
import { compareNames, type Node } from '../model/node.js';
import { type NamedPrincipal, principalText } from '../model/principal.js';
import type { Member } from '../model/principals.js';
import { PRIVILEGES } from '../model/privilege.js';
import { grantedOnEngine } from '../model/granted-right.js';
import { columnOf, isAtNode as isAboutNode, type Question, type RightQuestion } from '../model/question.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { givingGrants } from './effective-access.js';
import { likenessIn } from './likeness.js';

/** A principal that may do what is asked about. */
export interface Holder {
  principal: NamedPrincipal;
  /** All that it has at the node; nothing at all where a right is asked about. */
  access: Access;
  /** The grants that give it; empty where it follows from the settings, or from what it reaches. */
  origins: Origin<SnapshotGrant>[];
}

/** `anything`: whatever can be held at the node. */
export type HolderQuestion = Question | { about: 'anything'; resource: Node; column?: string | undefined };

type NodeQuestion = Exclude<HolderQuestion, RightQuestion>;

export function isAtNode(question: HolderQuestion): question is NodeQuestion {
  return question.about === 'anything' || isAboutNode(question);
}

/**
 * Everybody who may do what is asked about, by name: accounts, engine principals and service accounts. Groups are named by the
 * origins only.
 */
export function holders(index: AccessIndex, question: HolderQuestion): Holder[] {
  return [...eachHolder(index, question)].flat();
}

/** The same, one after the other. Empty lists between them are steps of the work. */
export function* eachHolder(index: AccessIndex, question: HolderQuestion): Generator<Holder[]> {
  const granted = question.about === 'anything' ? null : grantedOnEngine(question, index.principals);
  const node = granted?.resource ?? (isAtNode(question) ? question.resource : null);
  // What all read in `system` follows from access anywhere else, as rights do that are not granted; acting as somebody, from others.
  const isLocal = node !== null && !isOpenSystem(node) && node.as === undefined;
  const relevant = isLocal ? new AccessIndex(index.onPath(node)) : index;
  const likeness = likenessIn([relevant]);
  const known = new Map<string, Held>();
  for (const principal of candidates(relevant, node?.as !== undefined)) {
    const held = () =>
      question.about === 'anything' || (granted === null && isAtNode(question))
        ? holderOfData(relevant, principal, question)
        : holderOfRight(relevant, principal, question);
    const key = likeness(principal);
    const holder = key === null ? held() : getOrInsert(known, key, held);
    yield holder === null ? [] : [{ principal, ...holder }];
  }
}

type Held = Omit<Holder, 'principal'> | null;

function holderOfData(index: AccessIndex, principal: Member, question: NodeQuestion): Held {
  const isActing = question.resource.as !== undefined;
  const [snapshot, principals] = isActing ? [index.snapshot, index.principals] : [index.of(principal)];
  const intent = intentAt(snapshot, principal, question.resource, principals);
  const access = accessToColumn(intent, question.about === 'anything' ? question.column : columnOf(question));
  const asked = question.about === 'anything' ? PRIVILEGES : privilegesFor(question);
  const privileges = access.privileges.filter((privilege) => asked.includes(privilege));
  return privileges.length === 0 ? null : { access, origins: givingGrants({ ...intent, privileges }) };
}

function holderOfRight({ snapshot, principals }: AccessIndex, principal: Member, question: Question): Held {
  const { allowed, grants } = decide(snapshot, principal, question, principals);
  return allowed ? { access: NO_ACCESS, origins: grants } : null;
}

/** Members of what a grant names, and service accounts; by name. */
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
