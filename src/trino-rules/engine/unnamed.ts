import { getOrInsert } from '../../kernel/collections.js';
import { type NameKind, NameClasses } from '../document/name-classes.js';
import type { PatternCache } from '../document/pattern-cache.js';
import type { Pattern } from '../document/pattern.js';
import type { Branch } from './rule-trie.js';

/** A place in two documents: the rules that tell its names apart. */
export interface Place {
  kind: NameKind;
  openPatterns: Iterable<Pattern>;
  /** Names that the rules spell out, and witnesses of open patterns. */
  names: Iterable<string>;
}

/** Names to ask about at a place besides those that are given: they stand for names that no rule spells. */
export type Unnamed = (place: Place) => string[];

export function placeBelow(branches: readonly Branch[]): Place {
  const open = branches.flatMap((branch) => branch.openPatterns());
  return {
    kind: 'object',
    // Alone, companions are told apart by their names below; beside other open patterns, by all patterns together.
    openPatterns: open.length === 0 ? [] : [...open, ...branches.flatMap((branch) => branch.companionPatterns())],
    names: branches.flatMap((branch) => [...branch.names()]),
  };
}

export function namesAt(place: Place, unnamed: Unnamed): Set<string> {
  return new Set([...place.names, ...unnamed(place)]);
}

/** Enough where no pattern is open. */
export function onlyFreshName(patterns: PatternCache): Unnamed {
  return () => [patterns.fresh()];
}

/** One name of each kind that open patterns tell apart. The patterns must all have been read. */
export function everyKindOfName(patterns: PatternCache): Unnamed {
  const classes = new NameClasses(patterns.budget);
  const known = new Map<string, string[]>();
  const numbers = new Map<Pattern, number>();
  let spelled: ReadonlySet<string> | null = null;
  return ({ kind, openPatterns, names }) => {
    const fresh = patterns.fresh();
    const open = [...new Set(openPatterns)];
    if (open.length === 0) return [fresh];
    const key = open.map((pattern) => getOrInsert(numbers, pattern, () => numbers.size)).sort((a, b) => a - b);
    return getOrInsert(known, `${kind} ${key.join()}`, () => {
      const spelledNames = (spelled ??= patterns.allSpelled());
      const present = [fresh, ...[...names].filter((name) => !spelledNames.has(name))];
      return [fresh, ...classes.missing({ patterns: open, kind, present, spelled: spelledNames })];
    });
  };
}
