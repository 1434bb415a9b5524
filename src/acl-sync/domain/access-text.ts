import type { AccessChange, ChangedAccess } from '../../trino-rules/diff/access-change.js';

type Direction = 'gained' | 'lost';

/** A gain or loss as text: `gained by ana, bo (+3): SELECT from sales.eu.orders`. A restriction (`not: …`) becomes `no longer: …` or `now: …`. */
function changedText(direction: Direction, { what, people, others }: ChangedAccess): string {
  const text = what.replace(/^not: /, direction === 'gained' ? 'no longer: ' : 'now: ');
  return `${direction} by ${people.join(', ')}${others > 0 ? ` (+${others})` : ''}: ${text}`;
}

/** The first two gains and the first two losses, as part of a sentence. */
export function firstChanges({ gained, lost }: AccessChange): string {
  const lines = (direction: Direction, changes: readonly ChangedAccess[]): string[] =>
    changes.slice(0, 2).map((change) => changedText(direction, change));
  return [...lines('gained', gained), ...lines('lost', lost)].join('; ');
}

export function accessLines({ gained, lost, ...counts }: AccessForm): string[] {
  const lines = (direction: Direction, changes: readonly ChangedAccess[], totalCount: number): string[] => [
    ...changes.map((change) => changedText(direction, change)),
    ...(totalCount > changes.length ? [`${direction}: ${totalCount - changes.length} more things`] : []),
  ];
  return [...lines('gained', gained, counts.gained_in_all), ...lines('lost', lost, counts.lost_in_all)];
}

/** All counts, and the first `maxChanges` gains and losses, with the field names of the API, the log and the audit trail. */
export function accessForm(access: AccessChange, maxChanges: number) {
  const { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs } = access;
  return {
    gained: gained.slice(0, maxChanges),
    gained_in_all: gainedInAll,
    lost: lost.slice(0, maxChanges),
    lost_in_all: lostInAll,
    people_gaining: peopleGaining ?? null,
    people_losing: peopleLosing ?? null,
    changed_pairs: changedPairs,
    all_pairs: allPairs,
  };
}

export type AccessForm = ReturnType<typeof accessForm>;
