import { getOrInsert } from '../../kernel/get-or-insert.js';
import { actingTargets } from '../../trino-rules/model/acting.js';
import { type PolicyPrincipal, principalText } from '../../trino-rules/model/principal.js';
import { Principals } from '../../trino-rules/model/principals.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup } from '../../trino-rules/model/snapshot.js';

/** Grants of acting as those alone who can be acted as by both snapshots: a group stands for each that a grant names. */
export class ActingOfBoth {
  private readonly both: readonly Principals[];
  private readonly made = new Map<string, SnapshotGroup>();

  /** @param firstId of the groups, which no other has */
  constructor(
    previous: Snapshot,
    explained: Snapshot,
    private readonly firstId: number,
  ) {
    this.both = [previous, explained].map((snapshot) => new Principals(snapshot));
  }

  grantOf<T extends SnapshotGrant>(grant: T): T {
    const { as } = grant.resource;
    return as === undefined ? grant : { ...grant, resource: { as: { type: 'group', id: this.groupOf(as).id } } };
  }

  groups(): SnapshotGroup[] {
    return [...this.made.values()];
  }

  private groupOf(as: PolicyPrincipal): SnapshotGroup {
    return getOrInsert(this.made, principalText(as), () => {
      const [before = [], after = []] = this.both.map((principals) => actingTargets(principals, as));
      const are = new Set(after.map(principalText));
      const targets = before.filter((member) => are.has(principalText(member)));
      const id = this.firstId + this.made.size;
      return {
        id,
        name: `acted as (${id})`,
        members: targets.flatMap((member) => (member.type === 'user' ? [member.id] : [])),
        engines: targets.flatMap((member) => (member.type === 'engine' ? [member.name] : [])),
      };
    });
  }
}
