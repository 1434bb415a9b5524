import type { Subject } from '../model/subject.js';
import type { Bitset } from './bitset.js';
import { anyOf } from './name-pattern.js';

/** The one place where a set of users becomes a pattern: names, so that one file holds everything and changes in one moment. */
export function audience(people: Bitset, subjects: readonly Subject[]): string {
  return anyOf(people.members().flatMap((position) => subjects[position]?.name ?? []));
}
