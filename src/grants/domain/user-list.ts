import { getOrInsert } from '../../kernel/collections.js';
import { foldedName, principalNameProblem } from '../../kernel/name.js';
import { accountKey, accountNameProblem, emailProblem } from '../../users/domain/account.js';

/** A line of a list of users. */
export interface ListEntry {
  name: string;
  email: string | null;
  groups: readonly string[];
  line: number;
}

/** What is wrong in a line, or remarkable; `line` null: in the whole. */
export interface LineProblem {
  line: number | null;
  message: string;
}

/** A user of the list: all of its lines together. */
export interface ListedPerson {
  name: string;
  email: string | null;
  /** Of its first line. */
  line: number;
}

export interface UserList {
  people: ListedPerson[];
  /** The names of members, by the group's. */
  groups: Map<string, Set<string>>;
  problems: LineProblem[];
}

/** The users and groups of a list, and all that makes a line unfit for accounts. A person with problems is in neither. */
export function userList(entries: readonly ListEntry[]): UserList {
  const problems: LineProblem[] = [];
  const people = new Map<string, ListedPerson>();
  const spellings = new Spellings(problems);
  const groups = new Map<string, Set<string>>();
  for (const { name, email, groups: named, line } of entries) {
    const found = [...spellings.user(name, line), ...addressProblems(email, people.get(name)?.email ?? null)];
    for (const message of found) problems.push({ line, message: `${JSON.stringify(name)} ${message}` });
    const good = named.filter((group) => spellings.group(group, line));
    if (found.length > 0) continue;
    const known = people.get(name);
    people.set(name, { name, email: known?.email ?? email, line: known?.line ?? line });
    for (const group of good) getOrInsert(groups, group, () => new Set()).add(name);
  }
  return { people: [...people.values()], groups, problems };
}

function addressProblems(email: string | null, former: string | null): string[] {
  if (email === null) return [];
  const problem = emailProblem(email);
  if (problem !== null) return [`has <${email}>, which ${problem}`];
  return former === null || former === email ? [] : [`has the address <${former}> already`];
}

/** The spelling of each name, which another line must not differ from in case only. */
class Spellings {
  private readonly users = new Map<string, { name: string; line: number }>();
  private readonly groups = new Map<string, { name: string; line: number }>();

  constructor(private readonly problems: LineProblem[]) {}

  user(name: string, line: number): string[] {
    const first = getOrInsert(this.users, accountKey(name), () => ({ name, line }));
    if (first.name !== name) return [`differs from ${first.name} of line ${first.line} in case only`];
    // They are the list's own signs, so a name that has them is a line that was meant otherwise.
    if (/[<>]/.test(name)) return ['has < or >, between which an e-mail address stands, at the end of the name'];
    const problem = accountNameProblem(name);
    return problem === null ? [] : [problem];
  }

  /** False: the group cannot have that name, which is reported. */
  group(name: string, line: number): boolean {
    const first = getOrInsert(this.groups, foldedName(name), () => ({ name, line }));
    const problem =
      first.name === name
        ? principalNameProblem(name)
        : `differs from ${first.name} of line ${first.line} in case only`;
    if (problem !== null) this.problems.push({ line, message: `the group ${JSON.stringify(name)} ${problem}` });
    return problem === null;
  }
}

/** Groups of the list that are there already, in another spelling. */
export function groupSpellingProblems(
  entries: readonly ListEntry[],
  list: UserList,
  recorded: readonly { name: string }[],
): LineProblem[] {
  const spelled = new Map(recorded.map(({ name }) => [foldedName(name), name]));
  return entries.flatMap(({ groups, line }) =>
    groups.flatMap((group): LineProblem[] => {
      const name = spelled.get(foldedName(group)) ?? group;
      if (name === group || !list.groups.has(group)) return [];
      return [{ line, message: `the group ${JSON.stringify(group)} differs from the group ${name} in case only` }];
    }),
  );
}

/** Names with a colon inside: legal, and what a list looks like in which a blank is missing. */
export function colonRemarks(entries: readonly ListEntry[]): LineProblem[] {
  return entries
    .filter(({ name }) => name.includes(':'))
    .map(({ name, line }) => ({
      line,
      message: `${JSON.stringify(name)} is taken for a name: groups stand behind a colon and a blank`,
    }));
}
