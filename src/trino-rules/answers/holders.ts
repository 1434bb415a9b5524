import { type Access, intentAt, type Origin } from '../model/intent.js';
import { compareNames } from '../model/node.js';
import type { NamedPrincipal } from '../model/principal.js';
import type { Privilege } from '../model/privilege.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { givingGrants } from './effective-access.js';
import { accessToColumn, type Question } from './question.js';

/** A principal that may do something at a node. */
export interface Holder {
  principal: NamedPrincipal;
  access: Access;
  /** The grants that give it; empty where it follows from the settings. */
  origins: Origin<SnapshotGrant>[];
}

/** With the privilege left out: any of them. */
export type HolderQuestion = Omit<Question, 'privilege'> & { privilege?: Privilege | undefined };

/**
 * Everybody who may use a privilege at a node, by name: accounts, engine principals and service accounts. Groups are named by the
 * origins only.
 * @param after the name of the last principal of the page before; null: from the start
 */
export function holders(
  index: AccessIndex,
  { resource, column, privilege }: HolderQuestion,
  { after = null, limit = Infinity }: { after?: string | null; limit?: number } = {},
): Holder[] {
  // Reading the catalog `system` follows from access anywhere else.
  const relevant = resource.catalog === 'system' ? index : new AccessIndex(index.onPath(resource));
  const found: Holder[] = [];
  for (const principal of candidates(relevant)) {
    if (found.length >= limit) break;
    if (after !== null && compareNames(principal.name, after) <= 0) continue;
    const intent = intentAt(relevant.of(principal), principal, resource);
    const access = accessToColumn(intent, column);
    const asked = access.privileges.filter((one) => privilege === undefined || one === privilege);
    if (asked.length > 0) found.push({ principal, access, origins: givingGrants({ ...intent, privileges: asked }) });
  }
  return found;
}

/** Principals that a grant names, members of groups that one names, and service accounts; by name. */
function candidates(index: AccessIndex): NamedPrincipal[] {
  const { grants, settings } = index.snapshot;
  const users = new Set<number>();
  const engines = new Set(settings.serviceAccounts);
  for (const { principal } of grants) {
    if (principal.type === 'engine') engines.add(principal.name);
    else if (principal.type === 'user') users.add(principal.id);
    else for (const member of index.group(principal.id)?.members ?? []) users.add(member);
  }
  return [
    ...[...engines].map((name): NamedPrincipal => ({ type: 'engine', name })),
    ...[...users].flatMap((id): NamedPrincipal[] => {
      const user = index.user(id);
      return user ? [{ type: 'user', id, name: user.name }] : [];
    }),
  ].sort((a, b) => compareNames(a.name, b.name));
}
