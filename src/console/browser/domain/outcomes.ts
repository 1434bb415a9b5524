import { groupBy } from '../../../kernel/collections.js';
import type { Schemas } from '../api/client.js';
import type { PrincipalRef } from './principal.js';

type Difference = Schemas['AccessDifferenceResponse'];

/** People whose gains or losses are the same. */
export interface OutcomeGroup {
  key: string;
  differences: Omit<Difference, 'principal'>[];
  people: PrincipalRef[];
}

/** Groups people whose gains or losses are the same, the largest group first. */
export function groupByOutcome(differences: readonly Difference[]): OutcomeGroup[] {
  const differenceGroups = groupBy(differences, ({ principal }) => JSON.stringify(principal));
  const outcomes = [...differenceGroups.values()].map((group) => ({
    principal: group[0].principal,
    accesses: group.map(({ principal, ...access }) => access),
  }));
  return [...groupBy(outcomes, ({ accesses }) => JSON.stringify(accesses))]
    .map(([key, group]) => ({ key, differences: group[0].accesses, people: group.map(({ principal }) => principal) }))
    .sort((a, b) => b.people.length - a.people.length);
}
