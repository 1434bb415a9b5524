import { getOrInsert } from '../../kernel/get-or-insert.js';
import { addWord, bitset, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { nodeKey, nodeOf, pathTo, type Node } from '../model/node.js';
import { isOverRoutines, PRIVILEGE_TERMS, type Privilege } from '../model/privilege.js';
import type { RoutineQuestion } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

type RoutineKind = RoutineQuestion['kind'];

/** Functions and procedures that users may run by the grants: worked out by the proof, from the raw grants. */
export class ExpectedRoutines {
  /** Every node that a grant or a policy names, where routines are given or denied, and catalogs where data is restricted. */
  readonly nodes: readonly Node[];
  private readonly given = new Map<string, Bitset>();
  private readonly denied = new Map<string, Bitset>();
  /** Users whose data is restricted somewhere in a catalog, or by something on everything: ''. */
  private readonly restricted = new Map<string, Bitset>();
  private readonly closed: readonly (string | null | undefined)[];

  constructor(
    { grants, policies, settings, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly width: number,
  ) {
    this.closed = [settings.metadataCatalog, 'system'];
    const nodes = new Map<string, Node>();
    const note = (into: Map<string, Bitset>, node: Node, privileges: readonly Privilege[], people: () => Bitset) => {
      for (const kind of kindsOf(privileges)) {
        nodes.set(nodeKey(node), nodeOf(node));
        addAll(this.at(into, keyOf(kind, node)), people());
      }
    };
    for (const { privileges, resource, principal, ...grant } of grants)
      if (isLive({ privileges, resource, principal, ...grant }, at))
        note(this.given, resource, privileges, () => bitset(width, principals.resolvePrincipal(principal)));
    for (const policy of policies) {
      const people = () => bitset(width, principals.resolvePolicy(policy));
      if (policy.kind === 'deny') note(this.denied, policy.resource, policy.privileges, people);
      if (this.given.size === 0 || !restrictsData(policy)) continue;
      const { catalog } = policy.resource;
      if (catalog !== undefined) nodes.set(nodeKey({ catalog }), { catalog });
      addAll(this.at(this.restricted, catalog ?? ''), people());
    }
    this.nodes = [...nodes.values()];
  }

  /** At a node: a routine, or all routines below it that nothing names. Null: no user. */
  holders(kind: RoutineKind, node: Node): Bitset | null {
    if (this.given.size === 0 || this.closed.includes(node.catalog)) return null;
    const people = new Uint32Array(this.width);
    const taken = new Uint32Array(this.width);
    for (const each of pathTo(node)) {
      addAll(people, this.given.get(keyOf(kind, each)));
      addAll(taken, this.denied.get(keyOf(kind, each)));
    }
    for (const catalog of ['', node.catalog ?? '']) addAll(taken, this.restricted.get(catalog));
    return people.map((word, index) => word & ~wordAt(taken, index));
  }

  /** Users that may run anything in a catalog: what is left of a grant anywhere is left on the node that it names. */
  reaching(catalog: string): Bitset {
    const reaching = new Uint32Array(this.width);
    const named = this.nodes.filter((node) => node.catalog === catalog);
    for (const node of [{ catalog }, ...named])
      for (const kind of KINDS) addAll(reaching, this.holders(kind, node) ?? undefined);
    return reaching;
  }

  private at(index: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(index, key, () => new Uint32Array(this.width));
  }
}

const KINDS: readonly RoutineKind[] = ['function', 'procedure'];

function kindsOf(privileges: readonly Privilege[]): RoutineKind[] {
  return privileges.filter(isOverRoutines).flatMap((privilege) => PRIVILEGE_TERMS[privilege].runs ?? []);
}

function keyOf(kind: RoutineKind, node: Node): string {
  return `${kind} ${nodeKey(node)}`;
}

function addAll(into: Bitset, people: Bitset | undefined): void {
  people?.forEach((word, index) => {
    addWord(into, index, word);
  });
}
