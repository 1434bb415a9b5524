import type { Resource } from '../model/resource.js';
import { AccessState, type Statement, type RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';

/** A statement, its node and its members. */
export type AccessEntry = Statement & { resource: Resource; members: Bitset };

/** A user whose access at a node differs from that at its parent. */
export interface Change {
  position: number;
  from: AccessState;
  to: AccessState;
}

/** The access of all users at one node and its unnamed descendants: that of the parent node, with changes. */
export class NodeAccess {
  private worked: readonly AccessState[] | null = null;
  private workedReached: Bitset | null = null;
  private workedEffects: ReadonlyMap<RuleEffect, Bitset> | null = null;

  private constructor(
    /** Where nothing has changed it answers for this node too. */
    private readonly above: NodeAccess | null,
    readonly changes: readonly Change[],
    private readonly places: Uint32Array,
  ) {}

  static ofNobody(count: number): NodeAccess {
    const top = new NodeAccess(null, [], new Uint32Array(count));
    top.worked = new Array<AccessState>(count).fill(AccessState.nothing());
    return top;
  }

  below(entries: readonly AccessEntry[]): NodeAccess {
    const changes = entries.length === 0 ? [] : changed(this.states, entries, this.places);
    return new NodeAccess(this.changes.length === 0 ? (this.above ?? this) : this, changes, this.places);
  }

  /** By position. */
  get states(): readonly AccessState[] {
    return (this.worked ??= withChanges(this.above?.states ?? [], this.changes));
  }

  /** The sets are disjoint, and together hold all users. */
  get effects(): ReadonlyMap<RuleEffect, Bitset> {
    return (this.workedEffects ??= this.sameAsAbove()?.effects ?? byEffect(this.states));
  }

  /** Users with any privilege. */
  get reached(): Bitset {
    return (this.workedReached ??= this.sameAsAbove()?.reached ?? reaching(this.effects, this.states.length));
  }

  private sameAsAbove(): NodeAccess | null {
    return this.changes.length === 0 ? this.above : null;
  }
}

function withChanges(above: readonly AccessState[], changes: readonly Change[]): readonly AccessState[] {
  if (changes.length === 0) return above;
  const states = above.slice();
  for (const { position, to } of changes) states[position] = to;
  return states;
}

/**
 * Looks at the members of the entries alone.
 * @param places a zero per user, reset afterwards: a map of thousands for each of thousands of nodes takes longer
 */
function changed(above: readonly AccessState[], entries: readonly AccessEntry[], places: Uint32Array): Change[] {
  const found: Change[] = [];
  for (const entry of entries) {
    const after = new Map<AccessState, AccessState>();
    let last: AccessState | null = null;
    let next: AccessState | null = null;
    entry.members.forEach((position) => {
      const place = places[position] ?? 0;
      const known = place === 0 ? undefined : found[place - 1];
      const before = known?.to ?? above[position];
      if (before === undefined) return;
      // Most of those in a row have had the same before.
      if (before !== last || next === null) {
        next = after.get(before) ?? before.and(entry);
        after.set(before, next);
        last = before;
      }
      if (known) known.to = next;
      else places[position] = found.push({ position, from: before, to: next });
    });
  }
  for (const { position } of found) places[position] = 0;
  return found.some(({ from, to }) => from === to) ? found.filter(({ from, to }) => from !== to) : found;
}

function byEffect(states: readonly AccessState[]): Map<RuleEffect, Bitset> {
  const positions = new Map<RuleEffect, number[]>();
  for (let position = 0; position < states.length; position++) {
    const effect = states[position]?.effect;
    if (effect === undefined) continue;
    getOrInsert(positions, effect, () => []).push(position);
  }
  return new Map([...positions].map(([effect, list]) => [effect, Bitset.of(states.length, list)]));
}

function reaching(effects: ReadonlyMap<RuleEffect, Bitset>, count: number): Bitset {
  let reached = Bitset.none(count);
  for (const [{ privileges }, people] of effects) if (privileges.length > 0) reached = reached.or(people);
  return reached;
}
