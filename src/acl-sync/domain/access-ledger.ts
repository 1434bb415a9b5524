import { deed, restricted } from './deed.js';
import { isRestriction, type Aspect } from './difference.js';
import { members, wordAt, type Words } from './people-set.js';

/** Something that these people may do now and could not before, or the other way round. */
export interface ChangedAccess {
  /** `SELECT from sales.eu.orders`; for a restriction that is gone or new, the restriction. */
  what: string;
  /** As the engine knows them, sorted; a stranger's name is longer than anybody's. */
  people: string[];
}

/** Writes down what changes for whom, and counts (person, node) pairs. */
export class AccessLedger {
  readonly gained: ChangedAccess[] = [];
  readonly lost: ChangedAccess[] = [];
  changedPairs = 0;
  allPairs = 0;
  private readonly changed: Words;

  constructor(
    private readonly names: readonly string[],
    width: number,
  ) {
    this.changed = new Uint32Array(width);
  }

  /** A restriction that is dropped is gained access. Only people among `among` count. */
  compare(
    aspect: Aspect,
    active: Uint32Array,
    before: Words | null,
    after: Words | null,
    among: Words | null = null,
  ): void {
    const [more, less]: [number[], number[]] = [[], []];
    for (const index of active) {
      const mask = among === null ? -1 : wordAt(among, index);
      const had = (before === null ? 0 : wordAt(before, index)) & mask;
      const has = (after === null ? 0 : wordAt(after, index)) & mask;
      if (had === has) continue;
      this.changed[index] = wordAt(this.changed, index) | (had ^ has);
      more.push(...members(index, has & ~had));
      less.push(...members(index, had & ~has));
    }
    if (more.length === 0 && less.length === 0) return;
    const what = isRestriction(aspect) ? `not: ${restricted(aspect)}` : deed(aspect);
    const [gained, lost] = isRestriction(aspect) ? [less, more] : [more, less];
    if (gained.length > 0) this.gained.push({ what, people: this.called(gained) });
    if (lost.length > 0) this.lost.push({ what, people: this.called(lost) });
  }

  /** For whom something has changed at the node that is not closed yet. */
  changes(): Words {
    return this.changed.slice();
  }

  /** Ends a node: counts whoever something changed for, and whoever has anything before or after. */
  closeNode(active: Uint32Array, had: Words): void {
    for (const index of active) {
      this.changedPairs += count(wordAt(this.changed, index));
      this.allPairs += count(wordAt(had, index));
      this.changed[index] = 0;
    }
  }

  private called(positions: readonly number[]): string[] {
    return positions.map((position) => this.names[position] ?? '').sort();
  }
}

export function countAt(words: Words, active: Uint32Array): number {
  return active.reduce((sum, index) => sum + count(wordAt(words, index)), 0);
}

function count(word: number): number {
  let left = word;
  let bits = 0;
  for (; left !== 0; left &= left - 1) bits++;
  return bits;
}
