import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { Principals } from '../../trino-rules/model/principals.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import { isLive, type Snapshot } from '../../trino-rules/model/snapshot.js';

const OVER_QUERIES: readonly Privilege[] = ['VIEW_QUERIES', 'KILL_QUERIES'];

/** One right of one user: over all queries, or over those of some owners; by the names on the engine. */
interface Held {
  isOverAll: boolean;
  isClosed: boolean;
  given: Set<string>;
  denied: Set<string>;
}

/** What users may do with the queries of which others, by a snapshot. */
export class QueryRights {
  /** Owners that some grant or policy names. */
  readonly owners = new Set<string>();
  /** By user, then by privilege. */
  private readonly held = new Map<string, Map<Privilege, Held>>();

  constructor({ grants, policies, at }: Snapshot, principals: Principals) {
    for (const grant of grants) {
      const { engine, queries } = grant.resource;
      if ((engine === undefined && queries === undefined) || !isLive(grant, at)) continue;
      const owners = queries === undefined ? [] : [...principals.owners(queries).values()];
      for (const right of this.rightsOf(principals.members(grant.principal), grant.privileges)) {
        if (queries === undefined) right.isOverAll = true;
        for (const { name } of owners) right.given.add(name);
      }
      for (const { name } of owners) this.owners.add(name);
    }
    for (const policy of policies) {
      const { engine, queries } = policy.resource;
      if (policy.kind !== 'deny' || (engine === undefined && queries === undefined)) continue;
      const owners = queries === undefined ? [] : [...principals.owners(queries).values()];
      for (const right of this.rightsOf(principals.membersOf(policy), policy.privileges)) {
        if (queries === undefined) right.isClosed = true;
        for (const { name } of owners) right.denied.add(name);
      }
      for (const { name } of owners) this.owners.add(name);
    }
  }

  users(): string[] {
    return [...this.held.keys()];
  }

  has(user: string, owner: string, privilege: Privilege): boolean {
    const right = this.held.get(user)?.get(privilege);
    if (right === undefined || right.isClosed || right.denied.has(owner)) return false;
    return right.isOverAll || right.given.has(owner);
  }

  private rightsOf(members: ReadonlyMap<string, { name: string }>, privileges: readonly Privilege[]): Held[] {
    const about = OVER_QUERIES.filter((privilege) => privileges.includes(privilege));
    return [...members.values()].flatMap(({ name }) => {
      const ofUser = getOrInsert(this.held, name, () => new Map<Privilege, Held>());
      return about.map((privilege) =>
        getOrInsert(ofUser, privilege, () => ({
          isOverAll: false,
          isClosed: false,
          given: new Set<string>(),
          denied: new Set<string>(),
        })),
      );
    });
  }
}

/** Users, and those whose queries they can no longer view, or no longer kill. */
export function lostQueries(before: QueryRights, after: QueryRights): { user: string; owners: readonly string[] }[] {
  const owners = [...new Set([...before.owners, ...after.owners])].sort();
  return before.users().flatMap((user) => {
    const lost = owners.filter((owner) =>
      OVER_QUERIES.some((right) => before.has(user, owner, right) && !after.has(user, owner, right)),
    );
    return lost.length === 0 ? [] : [{ user, owners: lost }];
  });
}

/** Whether a user may kill some queries by both, those of strangers among them. */
export function stillKills(before: QueryRights, after: QueryRights, user: string): boolean {
  const owners = [STRANGER, ...before.owners];
  return owners.some((owner) => [before, after].every((rights) => rights.has(user, owner, 'KILL_QUERIES')));
}

/** No name of anybody. */
const STRANGER = '';
