import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import type { DifferenceFindings } from './difference-findings.js';
import type { ImportFinding } from './import-finding.js';
import type { Joiner } from './joiners.js';
import { isOfSystem } from './without-effect.js';

/**
 * What joiners do not get although the file gives it to a user of their groups: those of the list who are alike keep it, by name; of a
 * pair of groups, nobody of the list is in both.
 * @param lost of joiners and of users of the list
 */
export function findingsOfJoiners(
  reported: DifferenceFindings,
  lost: readonly AccessDifference[],
  joiners: readonly Joiner[],
): ImportFinding[] {
  const known = new Map(joiners.map((joiner) => [joiner.name, joiner]));
  const ofMembers = lost.filter(isOfMembers);
  const findings = (code: 'import-joiners' | 'import-combinations', why: string): ImportFinding[] => {
    const ofThem = ofMembers.flatMap((difference) => {
      const losing = new Set(difference.people);
      const isLostByListed = difference.people.some((name) => !known.has(name));
      const isLostAlone = (group: string): boolean =>
        difference.people.some((name) => known.get(name)?.groups.join('\0') === group);
      const people = difference.people.filter((name) => {
        const joiner = known.get(name);
        if (joiner === undefined || joiner.knownAs !== undefined) return false;
        if ((joiner.isPair === true) !== (code === 'import-combinations')) return false;
        if (joiner.isPair && joiner.groups.some(isLostAlone)) return false;
        return joiner.like.length === 0 ? !isLostByListed : !joiner.like.some((each) => losing.has(each));
      });
      return people.length === 0 ? [] : [{ ...difference, people }];
    });
    return reported.atRules(code, ofThem, why).map((finding) => {
      const found = finding.people.flatMap((name) => known.get(name) ?? []);
      const combinations = found.map(({ groups }) => (groups.length === 0 ? 'no group' : groups.join(' and ')));
      const people = [...new Set(found.flatMap(({ like }) => like))].sort();
      const more = combinations.splice(MOST_NAMED).length;
      const who = `who joins ${[...combinations, ...(more > 0 ? [`${more} more`] : [])].join(', or ')}`;
      return { ...finding, people, what: finding.what.map((each) => `${who}: ${each}`) };
    });
  };
  return [
    ...findings(
      'import-joiners',
      'no grant to a group says it: those of the list have it by name, also when they leave the group',
    ),
    ...findings(
      'import-combinations',
      'nobody of the list is in both groups, and what is kept from one of them is kept from those of both',
    ),
  ];
}

/** Combinations in a line. */
const MOST_NAMED = 20;

/** What users keep whom a rule of the file names, when they leave a group without which the file does not give it to them. */
export function findingsOfLeavers(
  reported: DifferenceFindings,
  kept: readonly AccessDifference[],
  joiners: readonly Joiner[],
): ImportFinding[] {
  const names = new Map(joiners.map(({ name, knownAs = name }) => [name, knownAs]));
  const why = 'a rule names them, and another one their groups: no grant and no deny says both';
  return reported.atRules('import-leavers', kept.filter(isOfMembers), why).map((finding) => ({
    ...finding,
    people: [...new Set(finding.people.map((name) => names.get(name) ?? name))].sort(),
  }));
}

/** The rest is a setting, is about who is in the list, or has no effect. */
function isOfMembers({ fact }: AccessDifference): boolean {
  return !['session-property', 'catalog-mode', 'impersonation'].includes(fact.about) && !isOfSystem(fact);
}
