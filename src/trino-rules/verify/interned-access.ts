import { getOrInsert } from '../../kernel/get-or-insert.js';
import { accessOf, type Access } from '../model/intent.js';
import type { Privilege } from '../model/privilege.js';
import type { SnapshotPolicy } from '../model/snapshot.js';

/** A grant's privileges, or a policy, without its members. */
export type EntrySource = { gives: readonly Privilege[] } | { policy: SnapshotPolicy };

/**
 * The sources of a user's access at a node: given privileges and applicable policies. Users with the same sources in the same
 * order share one instance, so that the specification computes their access once.
 */
export class InternedAccess {
  private readonly after = new Map<EntrySource, InternedAccess>();
  private worked: Access | null = null;

  constructor(
    private readonly given: readonly Privilege[] = [],
    private readonly last: SnapshotPolicy | null = null,
    /** With one policy less. */
    private readonly before: InternedAccess | null = null,
  ) {}

  get access(): Access {
    return (this.worked ??= accessOf(this.given, [...InternedAccess.policiesOf(this)]));
  }

  /** With one source more. */
  and(source: EntrySource): InternedAccess {
    return getOrInsert(this.after, source, () => this.with(source));
  }

  private with(source: EntrySource): InternedAccess {
    if ('policy' in source) return new InternedAccess(this.given, source.policy, this);
    const more = source.gives.filter((privilege) => !this.given.includes(privilege));
    return more.length === 0 ? this : new InternedAccess([...this.given, ...more], this.last, this.before);
  }

  /** The last first: the specification ignores their order. */
  private static *policiesOf(entitlement: InternedAccess): Iterable<SnapshotPolicy> {
    for (let each: InternedAccess | null = entitlement; each; each = each.before) if (each.last) yield each.last;
  }
}
