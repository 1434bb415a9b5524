import { getOrInsert } from '../../kernel/collections.js';
import { accessOf, NO_ACCESS, type Access } from '../model/intent.js';
import type { Privilege } from '../model/privilege.js';
import { restrictsReading, STORAGE_COLUMNS } from '../model/restrictions.js';
import type { SnapshotPolicy } from '../model/snapshot.js';

/** What a catalog changes of everything that is said in it and above. */
export interface CatalogTerms {
  /** Columns that are hidden beside any masked or hidden one. */
  storage: readonly string[];
  /** Policies that ownership yields to, wherever in the catalog they are. */
  ownership: readonly SnapshotPolicy[];
}

/** A grant's privileges, or a policy, without its members; or the terms of a catalog. */
export type EntrySource = { gives: readonly Privilege[] } | { policy: SnapshotPolicy } | { terms: CatalogTerms };

/**
 * The sources of a user's access at a node: given privileges and applicable policies. Users with the same sources in the same
 * order share one instance, so that the specification computes their access once.
 */
export class InternedAccess {
  private readonly after = new Map<EntrySource, InternedAccess>();
  private worked: Access | null = null;
  private restricted: boolean | null = null;

  constructor(
    private readonly given: readonly Privilege[] = [],
    private readonly last: SnapshotPolicy | null = null,
    /** With one policy less. */
    private readonly before: InternedAccess | null = null,
    private readonly terms: CatalogTerms = { storage: STORAGE_COLUMNS, ownership: [] },
  ) {}

  /** Of somebody to whom a companion is closed. */
  static closed(): InternedAccess {
    const closed = new InternedAccess();
    closed.worked = NO_ACCESS;
    return closed;
  }

  get access(): Access {
    return (this.worked ??= accessOf(this.given, [...InternedAccess.policiesOf(this)], {
      routines: [],
      ...this.terms,
    }));
  }

  /** Whether a policy restricts what is read, so that companions are closed. */
  get isReadingRestricted(): boolean {
    return (this.restricted ??= [...InternedAccess.policiesOf(this)].some(restrictsReading));
  }

  /** With one source more. */
  and(source: EntrySource): InternedAccess {
    return getOrInsert(this.after, source, () => this.with(source));
  }

  private with(source: EntrySource): InternedAccess {
    if ('policy' in source) return new InternedAccess(this.given, source.policy, this, this.terms);
    if ('terms' in source) return new InternedAccess(this.given, this.last, this.before, source.terms);
    const more = source.gives.filter((privilege) => !this.given.includes(privilege));
    return more.length === 0 ? this : new InternedAccess([...this.given, ...more], this.last, this.before, this.terms);
  }

  /** The last first: the specification ignores their order. */
  private static *policiesOf(entitlement: InternedAccess): Iterable<SnapshotPolicy> {
    for (let each: InternedAccess | null = entitlement; each; each = each.before) if (each.last) yield each.last;
  }
}
