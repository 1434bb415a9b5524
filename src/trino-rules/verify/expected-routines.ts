import { getOrInsert } from '../../kernel/collections.js';
import { addAll, bitset, removeAll, type Bitset } from '../engine/sparse-bitset.js';
import { KILL_QUERY, nodeKey, nodeOf, pathTo, type Node } from '../model/node.js';
import {
  isRoutinePrivilege,
  PRIVILEGE_TERMS,
  privilegesTakenBy,
  privilegesGivenBy,
  type Privilege,
} from '../model/privilege.js';
import type { RoutineQuestion } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

type RoutineRight = Pick<RoutineQuestion, 'kind' | 'privilege'>;

/** Users with rights over functions and procedures, computed from grants and policies without the compiler. */
export class ExpectedRoutines {
  /** All nodes with grants or denies of routines, and catalogs with restrictions of data. */
  readonly nodes: readonly Node[];
  private readonly grantees = new Map<string, Bitset>();
  private readonly deniedUsers = new Map<string, Bitset>();
  /** Users with a restriction of data, by catalog; under `''` for restrictions on everything. */
  private readonly restrictedUsersByCatalog = new Map<string, Bitset>();
  private readonly grantedRightKeys = new Set<string>();
  private readonly closedCatalogs: readonly (string | null | undefined)[];

  constructor(
    { grants, policies, settings, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly wordsPerSet: number,
  ) {
    this.closedCatalogs = [settings.metadataCatalog, 'system'];
    const nodes = new Map<string, Node>();
    const addUsers = (
      usersByNodeRight: Map<string, Bitset>,
      node: Node,
      rights: readonly RoutineRight[],
      resolveUsers: () => Bitset,
    ) => {
      for (const right of rights) {
        nodes.set(nodeKey(node), nodeOf(node));
        addAll(this.userSetAt(usersByNodeRight, keyOf(right, node)), resolveUsers());
      }
    };
    for (const grant of grants) {
      if (!grant.privileges.some(isRoutinePrivilege)) continue;
      const rights = rightsOf(privilegesGivenBy(grant.privileges));
      for (const right of rights) this.grantedRightKeys.add(keyOf(right, {}));
      if (isLive(grant, at))
        addUsers(this.grantees, grant.resource, rights, () =>
          bitset(wordsPerSet, principals.resolvePrincipal(grant.principal)),
        );
    }
    for (const policy of policies) {
      const resolveUsers = () => bitset(wordsPerSet, principals.resolvePolicy(policy));
      if (policy.kind === 'deny')
        addUsers(this.deniedUsers, policy.resource, rightsOf(privilegesTakenBy(policy.privileges)), resolveUsers);
      if (this.grantees.size === 0 || !restrictsData(policy)) continue;
      const { catalog } = policy.resource;
      if (catalog !== undefined) nodes.set(nodeKey({ catalog }), { catalog });
      addAll(this.userSetAt(this.restrictedUsersByCatalog, catalog ?? ''), resolveUsers());
    }
    this.nodes = [...nodes.values()];
  }

  /** Users with a right over a routine. A node that is no routine stands for the unnamed routines below it. Null: nobody. */
  holders(right: RoutineRight, node: Node): Bitset | null {
    if (!this.grantedRightKeys.has(keyOf(right, {})) || this.closedCatalogs.includes(node.catalog)) return null;
    const users = new Uint32Array(this.wordsPerSet);
    const excludedUsers = new Uint32Array(this.wordsPerSet);
    for (const pathNode of pathTo(node)) {
      addAll(users, this.grantees.get(keyOf(right, pathNode)));
      addAll(excludedUsers, this.deniedUsers.get(keyOf(right, pathNode)));
    }
    for (const catalog of ['', node.catalog ?? '']) addAll(excludedUsers, this.restrictedUsersByCatalog.get(catalog));
    removeAll(users, excludedUsers);
    return users;
  }

  /** Users who may `CALL system.runtime.kill_query`. @param killers users with KILL_QUERIES, which also gives this right */
  killQueryCallers(killers: Bitset): Bitset {
    const key = keyOf(CALL_RIGHT, KILL_QUERY);
    const users = new Uint32Array(this.wordsPerSet);
    for (const holders of [this.grantees.get(key), killers]) addAll(users, holders);
    removeAll(users, this.deniedUsers.get(key));
    return users;
  }

  /** Users who may run at least one routine in a catalog. Tests the catalog and its nodes with grants or denies, because rights change only there. */
  usersWithRoutines(catalog: string): Bitset {
    const users = new Uint32Array(this.wordsPerSet);
    const catalogNodes = this.nodes.filter((node) => node.catalog === catalog);
    for (const node of [{ catalog }, ...catalogNodes])
      for (const right of RUN_RIGHTS) addAll(users, this.holders(right, node));
    return users;
  }

  private userSetAt(usersByNodeRight: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(usersByNodeRight, key, () => new Uint32Array(this.wordsPerSet));
  }
}

const CALL_RIGHT: RoutineRight = { kind: 'procedure', privilege: 'EXECUTE' };
const RUN_RIGHTS: readonly RoutineRight[] = [{ kind: 'function', privilege: 'EXECUTE' }, CALL_RIGHT];

function rightsOf(privileges: Iterable<Privilege>): RoutineRight[] {
  return [...privileges].flatMap((privilege) => PRIVILEGE_TERMS[privilege].routineRight ?? []);
}

function keyOf({ kind, privilege }: RoutineRight, node: Node): string {
  return `${kind} ${privilege} ${nodeKey(node)}`;
}
