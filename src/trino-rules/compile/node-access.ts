import type { Node } from '../model/node.js';
import { AccessState, type EntryEffect, type RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';

export type AccessEntry = EntryEffect & { resource: Node; members: Bitset };

/** A user whose access at a node differs from that at its parent. */
export interface Change {
  position: number;
  from: AccessState;
  to: AccessState;
}

/** The access of all users at one node and its unnamed descendants, as changes of the access at the parent. */
export class NodeAccess {
  private knownStates: readonly AccessState[] | null = null;
  private knownUsers: UsersHere | null = null;

  private constructor(
    /** The nearest ancestor with changes, or the top. */
    private readonly above: NodeAccess | null,
    readonly changes: readonly Change[],
    private readonly places: Uint32Array,
  ) {}

  /** @param isOpenToReaders whether reading alone keeps table procedures */
  static ofNobody(count: number, isOpenToReaders: boolean): NodeAccess {
    const top = new NodeAccess(null, [], new Uint32Array(count));
    top.knownStates = new Array<AccessState>(count).fill(AccessState.nothing(isOpenToReaders));
    return top;
  }

  below(entries: readonly AccessEntry[]): NodeAccess {
    const changes = entries.length === 0 ? [] : changed(this.states, entries, this.places);
    return new NodeAccess(this.changes.length === 0 ? (this.above ?? this) : this, changes, this.places);
  }

  get states(): readonly AccessState[] {
    return (this.knownStates ??= withChanges(this.above?.states ?? [], this.changes));
  }

  /** All users, divided by effect. */
  get effects(): ReadonlyMap<RuleEffect, Bitset> {
    return this.usersHere.byEffect;
  }

  get reached(): Bitset {
    return this.usersHere.reached;
  }

  /** Users with any privilege here to whom companions of tables are closed. */
  get closed(): Bitset {
    return this.usersHere.closed;
  }

  private get usersHere(): UsersHere {
    const unchanged = this.changes.length === 0 ? this.above : null;
    return (this.knownUsers ??= unchanged?.usersHere ?? usersIn(this.states));
  }
}

interface UsersHere {
  byEffect: ReadonlyMap<RuleEffect, Bitset>;
  reached: Bitset;
  closed: Bitset;
}

function withChanges(above: readonly AccessState[], changes: readonly Change[]): readonly AccessState[] {
  if (changes.length === 0) return above;
  const states = above.slice();
  for (const { position, to } of changes) states[position] = to;
  return states;
}

/** @param places scratch memory with a zero for each user, also afterwards: faster than a map for each node */
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
      // Neighbours mostly have the same state.
      if (before !== last || next === null) {
        next = after.get(before) ?? before.withEntry(entry);
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

function usersIn(states: readonly AccessState[]): UsersHere {
  const positions = new Map<RuleEffect, number[]>();
  for (let position = 0; position < states.length; position++) {
    const effect = states[position]?.effect;
    if (effect === undefined) continue;
    getOrInsert(positions, effect, () => []).push(position);
  }
  const byEffect = new Map([...positions].map(([effect, list]) => [effect, Bitset.of(states.length, list)]));
  let reached = Bitset.none(states.length);
  for (const [{ privileges }, people] of byEffect) if (privileges.length > 0) reached = reached.or(people);
  const closed = Bitset.where(
    states.length,
    (position) => reached.has(position) && states[position]?.closesCompanions === true,
  );
  return { byEffect, reached, closed };
}
