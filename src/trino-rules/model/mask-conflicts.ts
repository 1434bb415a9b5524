import { getOrInsert } from '../../kernel/get-or-insert.js';
import { nodeKey } from './node.js';
import { type PolicySubject, principalText } from './principal.js';
import type { ColumnResource } from './resource.js';
import type { Snapshot, SnapshotPolicy } from './snapshot.js';

export interface MaskConflict {
  /** The other policy, which masks the same column of the same node. */
  with: number;
  /** A principal that both apply to. */
  principal: string;
}

type Mask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

/** Whom a mask applies to, by texts of principals. */
interface Masked {
  /** Null: everyone. */
  included: ReadonlySet<string> | null;
  excluded: readonly ReadonlySet<string>[];
}

/**
 * Masks at the same distance that apply to a common principal, so that none takes precedence (access model, section 1). Two masks
 * are equally near to a column of a table exactly when they are on the same node.
 */
export class MaskConflicts {
  private readonly byId = new Map<number, Mask>();
  private readonly byColumn = new Map<string, Mask[]>();
  private readonly masked = new Map<Mask, Masked>();
  private directory: Directory | null = null;

  constructor(private readonly snapshot: Snapshot) {
    for (const mask of snapshot.policies) {
      if (mask.kind !== 'column_mask') continue;
      this.byId.set(mask.id, mask);
      getOrInsert(this.byColumn, columnKey(mask.resource), () => []).push(mask);
    }
  }

  /**
   * A mask that contradicts the column mask `id`; null also where `id` is another policy.
   * @param former what `id` replaces: whom that masked alike had the contradiction before, so that it can be resolved for one
   * principal after the other
   */
  of(id: number, former: SnapshotPolicy | null = null): MaskConflict | null {
    const mine = this.byId.get(id);
    if (mine === undefined) return null;
    const isAlike =
      former?.kind === 'column_mask' &&
      former.expression === mine.expression &&
      columnKey(former.resource) === columnKey(mine.resource);
    const masked = isAlike ? this.maskedBy(former) : null;
    for (const other of this.byColumn.get(columnKey(mine.resource)) ?? []) {
      if (other.id === id || other.expression === mine.expression) continue;
      const principal = this.common(this.maskedBy(mine), this.maskedBy(other), masked);
      if (principal !== undefined) return { with: other.id, principal };
    }
    return null;
  }

  private common(one: Masked, other: Masked, former: Masked | null): string | undefined {
    const { names } = this.principals();
    const candidates = [one, other].flatMap(({ included }) => included ?? []).sort((a, b) => a.size - b.size);
    for (const principal of candidates[0] ?? names.keys()) {
      const name = names.get(principal);
      const isIn = ({ included, excluded }: Masked): boolean =>
        included?.has(principal) !== false && !excluded.some((subject) => subject.has(principal));
      if (name !== undefined && isIn(one) && isIn(other) && !(former && isIn(former))) return name;
    }
    return undefined;
  }

  private maskedBy(mask: Mask): Masked {
    return getOrInsert(this.masked, mask, () => ({
      included: mask.principal.type === 'everyone' ? null : this.principalsOf(mask.principal),
      excluded: mask.except.map((subject) => this.principalsOf(subject)),
    }));
  }

  private principalsOf(subject: PolicySubject): ReadonlySet<string> {
    const { names, members } = this.principals();
    if (subject.type === 'everyone') return new Set(names.keys());
    return subject.type === 'group' ? (members.get(subject.id) ?? NOBODY) : new Set([principalText(subject)]);
  }

  private principals(): Directory {
    return (this.directory ??= directoryOf(this.snapshot));
  }
}

/** Principals by their texts. */
interface Directory {
  /** Names of those that a policy can apply to: active people, and named engine principals; never service accounts. */
  names: ReadonlyMap<string, string>;
  members: ReadonlyMap<number, ReadonlySet<string>>;
}

function directoryOf({ users, groups, grants, policies, settings }: Snapshot): Directory {
  const ofUser = (id: number): string => principalText({ type: 'user', id });
  const names = new Map(users.flatMap(({ id, name, isActive }) => (isActive ? [[ofUser(id), name] as const] : [])));
  for (const { principal } of [...grants, ...policies])
    if (principal.type === 'engine' && !settings.serviceAccounts.includes(principal.name))
      names.set(principalText(principal), principal.name);
  return { names, members: new Map(groups.map(({ id, members }) => [id, new Set(members.map(ofUser))])) };
}

const NOBODY: ReadonlySet<string> = new Set();

function columnKey(resource: ColumnResource): string {
  return JSON.stringify([nodeKey(resource), resource.column]);
}
