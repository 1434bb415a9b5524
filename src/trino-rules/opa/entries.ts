import type { SnapshotPolicy } from '../model/snapshot.js';
import { RIGHT_LETTERS, type RightLetter } from '../document/opa-operations.js';
import type { Json } from './tree.js';

/** A moment in milliseconds since 1970. Infinity: never. */
export type Moment = number;

/** Moves the end of a right to `end`, if that is later. */
export function extendEnd<K>(ends: Map<K, Moment>, key: K, end: Moment): void {
  ends.set(key, Math.max(end, ends.get(key) ?? 0));
}

export type EndByRight = Map<RightLetter, Moment>;

const ORDERED_LETTERS = Object.keys(RIGHT_LETTERS) as RightLetter[];

export function timedRightsOf(ends: EndByRight): Json {
  const heldLetters = ORDERED_LETTERS.filter((letter) => ends.has(letter));
  const permanentLetters = heldLetters.filter((letter) => ends.get(letter) === Infinity).join('');
  const endsByLetter = new Map(
    heldLetters.map((letter) => [letter, ends.get(letter) ?? 0] as const).filter(([, end]) => end < Infinity),
  );
  return endsByLetter.size === 0 ? permanentLetters : [permanentLetters, endsByLetter];
}

/** The keys of a node: catalog, schema, and table or routine; `''` for an absent level. */
export type Path = readonly [catalog: string, schema: string, leaf: string];

export interface NodeGrants {
  key: string;
  path: Path;
  ends: EndByRight;
}

/** A policy on data or routines, with the key of its principal. */
export interface NodePolicy {
  key: string;
  path: Path;
  policy: SnapshotPolicy;
  /** Whether the policy restricts data and therefore takes away ownership and rights over routines. */
  restrictsData: boolean;
}
