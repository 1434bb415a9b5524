import type { Resource } from '../../grants/domain/resource.js';
import { AccessState, type Statement } from './access-state.js';
import { Bits } from './bits.js';
import type { Outcome } from './outcome.js';

/** A statement, the node that it is made of, and the set of those whom it means. */
export type Saying = Statement & { resource: Resource; means: Bits };

/** Somebody who has something else at a node than at the node above. */
export interface Change {
  position: number;
  from: AccessState;
  to: AccessState;
}

/** What everybody has at one node, and below it wherever nothing narrower is named: what the node above gives, but for changes. */
export class NodeAccess {
  private worked: readonly AccessState[] | null = null;
  private workedReached: Bits | null = null;
  private workedOutcomes: ReadonlyMap<Outcome, Bits> | null = null;

  private constructor(
    private readonly above: readonly AccessState[],
    readonly changes: readonly Change[],
  ) {}

  static ofNobody(count: number): NodeAccess {
    return new NodeAccess(new Array<AccessState>(count).fill(AccessState.nothing()), []);
  }

  below(said: readonly Saying[]): NodeAccess {
    return new NodeAccess(this.states, changed(this.states, said));
  }

  /** By position. */
  get states(): readonly AccessState[] {
    return (this.worked ??= this.changes.length === 0 ? this.above : withChanges(this.above, this.changes));
  }

  /** The sets do not meet, and together are everybody. */
  get outcomes(): ReadonlyMap<Outcome, Bits> {
    return (this.workedOutcomes ??= byOutcome(this.states));
  }

  /** Whoever has anything. */
  get reached(): Bits {
    return (this.workedReached ??= Bits.of(
      this.states.length,
      this.states.flatMap(({ need }, position) => (need > 0 ? [position] : [])),
    ));
  }
}

function withChanges(above: readonly AccessState[], changes: readonly Change[]): AccessState[] {
  const states = above.slice();
  for (const { position, to } of changes) states[position] = to;
  return states;
}

/** Looks at those alone whom something means. */
function changed(above: readonly AccessState[], said: readonly Saying[]): Change[] {
  const found = new Map<number, Change>();
  for (const saying of said) {
    // Most of those in a row have had the same before.
    let before: AccessState | null = null;
    let after: AccessState | null = null;
    saying.means.forEach((position) => {
      const from = above[position];
      if (from === undefined) return;
      const known = found.get(position);
      const state = known?.to ?? from;
      if (state !== before || after === null) after = state.and(saying);
      before = state;
      if (known) known.to = after;
      else found.set(position, { position, from, to: after });
    });
  }
  return [...found.values()].filter(({ from, to }) => from !== to);
}

function byOutcome(states: readonly AccessState[]): Map<Outcome, Bits> {
  const positions = new Map<Outcome, number[]>();
  for (const [position, { outcome }] of states.entries()) {
    const known = positions.get(outcome);
    if (known) known.push(position);
    else positions.set(outcome, [position]);
  }
  return new Map([...positions].map(([outcome, list]) => [outcome, Bits.of(states.length, list)]));
}
