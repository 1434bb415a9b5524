import { addWord, peopleSet, wordAt, wordsOf, type WordMarks, type Words } from '../engine/people-set.js';
import type { Access } from '../model/intent.js';
import { Entitlement } from './entitlement.js';
import { MeantOutcome } from './meant-outcome.js';
import type { SaidNode } from './saying.js';

/** What the grants mean at a catalog or a schema, and at what lies right below it. Worked out anew by the proof, from the raw grants. */
export class MeantLevel {
  /** What holds here, and everywhere below of which nothing is said. */
  readonly outcome: MeantOutcome;
  /** By position. */
  private readonly entitlements: readonly Entitlement[];
  private readonly here: MeantOutcome;
  private dirty: Uint32Array = NOWHERE;

  private constructor(
    private readonly reach: MeantReach,
    private readonly node: SaidNode | undefined,
    above: readonly Entitlement[],
    inherited?: MeantOutcome,
  ) {
    const entitled = entitledBy(node, above);
    this.entitlements = entitled.size === 0 ? above : above.map((each, position) => entitled.get(position) ?? each);
    this.outcome = entitled.size === 0 && inherited ? inherited : new MeantOutcome(reach.width);
    this.here = new MeantOutcome(reach.width);
    for (const [position, entitlement] of entitled) reach.note(position, entitlement);
    if (this.outcome === inherited) return;
    addAlike(this.outcome, this.entitlements.entries());
  }

  /** @param reach gathers who reaches anything in the catalog, while its levels are walked. */
  static catalog(reach: MeantReach, node: SaidNode | undefined): MeantLevel {
    const nothing = new Entitlement();
    const nobody = Array.from({ length: reach.count }, () => nothing);
    return new MeantLevel(reach, node, nobody);
  }

  /** Names below of which something is said, or below which something is, sorted. */
  names(): string[] {
    return [...(this.node?.below.keys() ?? [])].sort();
  }

  level(name: string): MeantLevel {
    return new MeantLevel(this.reach, this.node?.below.get(name), this.entitlements, this.outcome);
  }

  /** Marks the words of people of whom something is said at this very node below. */
  mark(name: string, marks: WordMarks): void {
    for (const { means } of this.node?.below.get(name)?.said ?? []) marks.addPositions(means);
  }

  /** What is meant at one node below, at these words, all marked ones among them. It is written over by the next call. */
  at(name: string, active: Uint32Array): MeantOutcome {
    const said = entitledBy(this.node?.below.get(name), this.entitlements);
    this.here.clear(this.dirty);
    this.dirty = active;
    if (active.length === 0) return this.here;
    addAlike(this.here, said);
    for (const [position, entitlement] of said) this.reach.note(position, entitlement);
    this.here.inherit(this.outcome, active, wordsOf(this.reach.width, said.keys()));
    return this.here;
  }
}

/** Who reaches anything in a catalog, as it is walked: the mode in which they must be let in. */
export class MeantReach {
  readonly any: Words;
  /** With anything beyond SELECT. */
  readonly beyondReading: Words;

  constructor(
    readonly count: number,
    readonly width: number,
  ) {
    this.any = new Uint32Array(width);
    this.beyondReading = new Uint32Array(width);
  }

  /** Those who need no more than the mode `read-only`. */
  onlyReading(): Words {
    return this.any.map((word, index) => word & ~wordAt(this.beyondReading, index));
  }

  note(position: number, { access: { privileges } }: Entitlement): void {
    const [index, bit] = [position >>> 5, 1 << (position & 31)];
    if (privileges.length > 0) addWord(this.any, index, bit);
    if (privileges.some((privilege) => privilege !== 'SELECT')) addWord(this.beyondReading, index, bit);
  }
}

/** Those of whom something is said at a node, with everything that reaches them there. */
function entitledBy(node: SaidNode | undefined, above: readonly Entitlement[]): Map<number, Entitlement> {
  const entitled = new Map<number, Entitlement>();
  for (const { source, means } of node?.said ?? []) {
    for (const position of means) {
      const before = entitled.get(position) ?? above[position];
      if (before !== undefined) entitled.set(position, before.and(source));
    }
  }
  return entitled;
}

const NOWHERE = new Uint32Array(0);

/** Those who have the same are written down together: of a hundred hidden columns each is one set, and not one for each person. */
function addAlike(outcome: MeantOutcome, entitled: Iterable<[number, Entitlement]>): void {
  const alike = new Map<Access, number[]>();
  for (const [position, { access }] of entitled) {
    const known = alike.get(access);
    if (known) known.push(position);
    else alike.set(access, [position]);
  }
  for (const [access, positions] of alike) outcome.add(peopleSet(positions), access);
}
