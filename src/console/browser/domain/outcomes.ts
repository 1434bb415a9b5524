import type { Schemas } from '../api/client.js';
import type { Named } from './principal.js';

type Difference = Schemas['AccessDifferenceResponse'];

/** People with equal gains or losses. */
export interface Outcome {
  key: string;
  differences: Omit<Difference, 'principal'>[];
  people: Named[];
}

interface Changed {
  principal: Named;
  parts: Outcome['differences'];
}

/** Differences grouped by equal outcome, the largest group first. */
export function outcomesOf(differences: readonly Difference[]): Outcome[] {
  const byPerson = new Map<string, Changed>();
  for (const { principal, ...difference } of differences) {
    const key = JSON.stringify(principal);
    const person: Changed = byPerson.get(key) ?? { principal, parts: [] };
    person.parts.push(difference);
    byPerson.set(key, person);
  }
  const outcomes = new Map<string, Outcome>();
  for (const { principal, parts } of byPerson.values()) {
    const key = JSON.stringify(parts);
    const outcome: Outcome = outcomes.get(key) ?? { key, differences: parts, people: [] };
    outcome.people.push(principal);
    outcomes.set(key, outcome);
  }
  return [...outcomes.values()].sort((a, b) => b.people.length - a.people.length);
}
