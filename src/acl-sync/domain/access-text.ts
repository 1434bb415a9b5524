import type { AccessChange, ChangedAccess } from '../../trino-rules/diff/access-change.js';

/** `ana, bo (+3): SELECT from sales.eu.orders` */
export function changedText({ what, people, others }: ChangedAccess): string {
  return `${people.join(', ')}${others > 0 ? ` (+${others})` : ''}: ${what}`;
}

/** The first changes, as part of a sentence. */
export function firstChanges({ gained, lost }: AccessChange): string {
  const lines = (verb: string, changes: readonly ChangedAccess[]): string[] =>
    changes.slice(0, 2).map((change) => `${verb} by ${changedText(change)}`);
  return [...lines('gained', gained), ...lines('lost', lost)].join('; ');
}

export function accessLines({ gained, lost, ...counts }: AccessForm): string[] {
  const lines = (verb: string, changes: readonly ChangedAccess[], inAll: number): string[] => [
    ...changes.map((change) => `${verb} ${changedText(change)}`),
    ...(inAll > changes.length ? [`${verb} ${inAll - changes.length} more things`] : []),
  ];
  return [...lines('gained by', gained, counts.gained_in_all), ...lines('lost by', lost, counts.lost_in_all)];
}

/** All counts and the first `few` changes, with the names of the API, the log and the audit trail. */
export function accessForm(access: AccessChange, few: number) {
  const { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs } = access;
  return {
    gained: gained.slice(0, few),
    gained_in_all: gainedInAll,
    lost: lost.slice(0, few),
    lost_in_all: lostInAll,
    people_gaining: peopleGaining ?? null,
    people_losing: peopleLosing ?? null,
    changed_pairs: changedPairs,
    all_pairs: allPairs,
  };
}

export type AccessForm = ReturnType<typeof accessForm>;
