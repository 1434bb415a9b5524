import { getOrInsert } from '../../kernel/collections.js';
import { actingTargets } from '../../trino-rules/model/acting.js';
import { nodeKey, type Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import { type Member, Principals } from '../../trino-rules/model/principals.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

/**
 * Of two snapshots, whom nodes of acting as others and of queries name: of a grant those alone whom it names in both, of a deny on
 * queries those whom it names in either. A group stands for them.
 */
export class OthersOfBoth {
  private readonly both: readonly Principals[];
  private readonly ids: ReadonlyMap<string, number>;
  private readonly made = new Map<string, SnapshotGroup>();

  /** @param firstId of the groups, which no other has */
  constructor(
    previous: Snapshot,
    explained: Snapshot,
    private readonly firstId: number,
  ) {
    this.both = [previous, explained].map((snapshot) => new Principals(snapshot));
    this.ids = new Map(explained.users.map(({ id, name }) => [name, id]));
  }

  grantOf<T extends SnapshotGrant>(grant: T): T {
    const { as, queries } = grant.resource;
    if (as !== undefined)
      return { ...grant, resource: { as: this.group(grant.resource, this.inBoth(as, actingTargets)) } };
    if (queries === undefined) return grant;
    return { ...grant, resource: { queries: this.group(grant.resource, this.inBoth(queries, ownersOf)) } };
  }

  /** Being named by a deny makes nobody known, being in a group does: whoever is named by one snapshot alone has a deny of its own. */
  policiesOf(policy: SnapshotPolicy): SnapshotPolicy[] {
    const { queries } = policy.resource;
    if (policy.kind !== 'deny' || queries === undefined) return [policy];
    const either = new Set(this.both.flatMap((principals) => ownersOf(principals, queries).map(({ name }) => name)));
    const both = this.inBoth(queries, ownersOf);
    return [
      { ...policy, resource: { queries: this.group(policy.resource, both) } },
      ...[...either]
        .filter((name) => !both.includes(name))
        .map((name) => ({ ...policy, resource: { queries: this.principal(name) } })),
    ];
  }

  groups(): SnapshotGroup[] {
    return [...this.made.values()];
  }

  private inBoth(
    named: PolicyPrincipal,
    membersOf: (principals: Principals, named: PolicyPrincipal) => Member[],
  ): string[] {
    const [before = [], after = []] = this.both.map((principals) =>
      membersOf(principals, named).map(({ name }) => name),
    );
    const are = new Set(after);
    return before.filter((name) => are.has(name));
  }

  /** Of one, that one. */
  private group(node: Node, names: readonly string[]): PolicyPrincipal {
    const [only, ...others] = names;
    if (only !== undefined && others.length === 0) return this.principal(only);
    const { id } = getOrInsert(this.made, nodeKey(node), () => {
      const next = this.firstId + this.made.size;
      return {
        id: next,
        name: `named (${next})`,
        members: names.flatMap((name) => this.ids.get(name) ?? []),
        engines: names.filter((name) => !this.ids.has(name)),
      };
    });
    return { type: 'group', id };
  }

  /** Whoever has lost the account of a name is known by the name alone. */
  private principal(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }
}

function ownersOf(principals: Principals, named: PolicyPrincipal): Member[] {
  return [...principals.owners(named).values()];
}
