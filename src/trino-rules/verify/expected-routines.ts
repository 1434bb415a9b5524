import { getOrInsert } from '../../kernel/collections.js';
import { addAll, bitset, removeAll, type Bitset } from '../engine/sparse-bitset.js';
import { KILL_QUERY, nodeKey, nodeOf, pathTo, type Node } from '../model/node.js';
import { isOverRoutines, PRIVILEGE_TERMS, withTaken, withContained, type Privilege } from '../model/privilege.js';
import type { RoutineQuestion } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

type RoutineRight = Pick<RoutineQuestion, 'kind' | 'privilege'>;

/** Functions and procedures that users may run, computed by the proof from the raw grants. */
export class ExpectedRoutines {
  /** All nodes with grants or denies of routines, and catalogs where data is restricted. */
  readonly nodes: readonly Node[];
  private readonly given = new Map<string, Bitset>();
  private readonly denied = new Map<string, Bitset>();
  /** By catalog, the users with a restriction of data there; '': on everything. */
  private readonly restricted = new Map<string, Bitset>();
  /** Rights that at least one grant gives. */
  private readonly isGiven = new Set<string>();
  private readonly closed: readonly (string | null | undefined)[];

  constructor(
    { grants, policies, settings, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly width: number,
  ) {
    this.closed = [settings.metadataCatalog, 'system'];
    const nodes = new Map<string, Node>();
    const note = (into: Map<string, Bitset>, node: Node, rights: readonly RoutineRight[], people: () => Bitset) => {
      for (const right of rights) {
        nodes.set(nodeKey(node), nodeOf(node));
        addAll(this.at(into, keyOf(right, node)), people());
      }
    };
    for (const grant of grants) {
      if (!grant.privileges.some(isOverRoutines)) continue;
      const rights = rightsOf(withContained(grant.privileges));
      for (const right of rights) this.isGiven.add(keyOf(right, {}));
      if (isLive(grant, at))
        note(this.given, grant.resource, rights, () => bitset(width, principals.resolvePrincipal(grant.principal)));
    }
    for (const policy of policies) {
      const people = () => bitset(width, principals.resolvePolicy(policy));
      if (policy.kind === 'deny') note(this.denied, policy.resource, rightsOf(withTaken(policy.privileges)), people);
      if (this.given.size === 0 || !restrictsData(policy)) continue;
      const { catalog } = policy.resource;
      if (catalog !== undefined) nodes.set(nodeKey({ catalog }), { catalog });
      addAll(this.at(this.restricted, catalog ?? ''), people());
    }
    this.nodes = [...nodes.values()];
  }

  /** Users with a right at a node: on a routine, or on all unnamed routines below. Null: no user. */
  holders(right: RoutineRight, node: Node): Bitset | null {
    if (!this.isGiven.has(keyOf(right, {})) || this.closed.includes(node.catalog)) return null;
    const people = new Uint32Array(this.width);
    const taken = new Uint32Array(this.width);
    for (const each of pathTo(node)) {
      addAll(people, this.given.get(keyOf(right, each)));
      addAll(taken, this.denied.get(keyOf(right, each)));
    }
    for (const catalog of ['', node.catalog ?? '']) addAll(taken, this.restricted.get(catalog));
    removeAll(people, taken);
    return people;
  }

  /** `CALL system.runtime.kill_query`. @param kill users with the right to kill, which includes it unless it is denied */
  killing(kill: Bitset): Bitset {
    const key = keyOf(CALLING, KILL_QUERY);
    const people = new Uint32Array(this.width);
    for (const those of [this.given.get(key), kill]) addAll(people, those);
    removeAll(people, this.denied.get(key));
    return people;
  }

  /** Users who may run anything in a catalog. It is enough to look at the nodes that grants name, because denies also hold below. */
  reaching(catalog: string): Bitset {
    const reaching = new Uint32Array(this.width);
    const named = this.nodes.filter((node) => node.catalog === catalog);
    for (const node of [{ catalog }, ...named])
      for (const right of RUNNING) addAll(reaching, this.holders(right, node));
    return reaching;
  }

  private at(index: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(index, key, () => new Uint32Array(this.width));
  }
}

const CALLING: RoutineRight = { kind: 'procedure', privilege: 'EXECUTE' };
const RUNNING: readonly RoutineRight[] = [{ kind: 'function', privilege: 'EXECUTE' }, CALLING];

function rightsOf(privileges: Iterable<Privilege>): RoutineRight[] {
  return [...privileges].flatMap((privilege) => PRIVILEGE_TERMS[privilege].runs ?? []);
}

function keyOf({ kind, privilege }: RoutineRight, node: Node): string {
  return `${kind} ${privilege} ${nodeKey(node)}`;
}
