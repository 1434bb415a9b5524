import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { compareDocuments } from '../../trino-rules/diff/document-comparison.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { type AccessFact, standingForOthers } from '../../trino-rules/engine/access-fact.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import type { Guarantee } from '../../trino-rules/model/guarantee.js';
import { namedBy, nodeOf } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import { SnapshotDecoder, type SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotNames, SnapshotRows } from '../../trino-rules/model/snapshot-rows.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { GuaranteeJudge, type Verdict, type Witness } from '../../trino-rules/verify/guarantee-judge.js';
import { type ForeignRule, type ForeignRules, groupPattern } from '../check/foreign-rules.js';
import { ANYBODY, anyPatterns, type Audience, type Audiences, ListedUsers, type ListedUser } from './audiences.js';
import { foreignDocument } from './foreign-document.js';
import { explainForeign } from './foreign-explanation.js';
import { isPossible } from './foreign-diff.js';

/** The guarantees of a file, with the names that they spell. */
export interface NamedGuarantees {
  guarantees: Guarantee[];
  /** By the ids that the guarantees have. */
  users: ReadonlyMap<number, string>;
  groups: ReadonlyMap<number, string>;
}

/** Accounts and the catalog that no guarantee is about. */
type UntouchedSettings = Pick<SnapshotSettings, 'serviceAccounts' | 'metadataCatalog'>;

/** Reads `guarantees` of a snapshot file, with names; all else in the file is not looked at. */
export function readGuarantees(
  value: unknown,
  settings: UntouchedSettings,
): { kind: 'read'; read: NamedGuarantees } | { kind: 'refused'; problems: SnapshotProblem[] } {
  const form = new SnapshotDecoder();
  const listed = typeof value === 'object' && value !== null && 'guarantees' in value ? value.guarantees : undefined;
  const [users, groups] = [namesOfType(listed, 'user'), namesOfType(listed, 'group')];
  const names = new SnapshotNames(form, users.map(active), groups, settings);
  const reader = new GuaranteeReader(form, names, new SnapshotRows(form, names, settings));
  const guarantees = form.list(listed, 'guarantees', (each, path) => reader.guarantee(each, path));
  const seen = new Set<string>();
  for (const [i, { name }] of guarantees.entries()) {
    if (seen.has(name.toLowerCase())) form.refuse(`guarantees[${i}].name`, 'is the name of another guarantee');
    seen.add(name.toLowerCase());
  }
  if (form.problems.length > 0) return { kind: 'refused', problems: form.problems };
  return { kind: 'read', read: { guarantees, users: byId(users), groups: byId(groups) } };
}

interface Row {
  id: number;
  name: string;
}

const active = (row: Row) => ({ ...row, isActive: true });
const byId = (rows: readonly Row[]): ReadonlyMap<number, string> => new Map(rows.map(({ id, name }) => [id, name]));

/** Every name of that type in a value of any shape, numbered. */
function namesOfType(value: unknown, type: string): Row[] {
  const found = new Set<string>();
  const visit = (each: unknown): void => {
    if (typeof each !== 'object' || each === null) return;
    if ('type' in each && each.type === type && 'name' in each && typeof each.name === 'string') found.add(each.name);
    for (const inner of Object.values(each)) visit(inner);
  };
  visit(value);
  return [...found].map((name, i) => ({ id: i + 1, name }));
}

/** What breaks a guarantee in a file. */
export interface ForeignBreach {
  guarantee: string;
  /** A name, or one that stands for users whom no rule spells (`standingForOthers`). */
  person: string;
  privilege: Privilege;
  fact: AccessFact;
  /** The deciding rule; null: none matches, or its section is absent. */
  rule: ForeignRule | null;
}

export interface ForeignVerdict {
  guarantee: Guarantee;
  isBroken: boolean;
  brokenBy: number;
  breaches: ForeignBreach[];
}

export type GuaranteeTest =
  | { kind: 'judged'; verdicts: ForeignVerdict[] }
  /** Patterns whose names cannot be told, or groups without a list. */
  | { kind: 'undecided'; problems: { rule: string; at: number; message: string }[] };

/**
 * Judges guarantees by anybody's rules: for the users of a list, the names that rules and guarantees spell, one name of each kind that
 * patterns tell apart, and somebody else.
 * @param users with their groups; null: there is no list, and no rule may be for a group
 * @throws BudgetExceeded
 */
export function testForeign(
  rules: ForeignRules,
  { guarantees, users: ids, groups }: NamedGuarantees,
  users: readonly ListedUser[] | null,
  { serviceAccounts, metadataCatalog }: UntouchedSettings,
  budget: WorkBudget,
): GuaranteeTest {
  const audiences = users === null ? ANYBODY : new ListedAndOthers(new ListedUsers(users, anyPatterns(budget)));
  const problems: { rule: string; at: number; message: string }[] = [];
  if (users === null) {
    for (const rule of [...rules.values()].flat()) {
      const group = groupPattern(rule);
      if (group)
        problems.push({
          rule: rule.place,
          at: group.at,
          message: 'a rule for groups needs the users and their groups (--users)',
        });
    }
  }
  const { document, unjudged } = foreignDocument(rules, audiences, ({ text }) => text);
  for (const { rule, at, message } of unjudged) problems.push({ rule: rule.place, at, message });
  if (problems.length > 0) return { kind: 'undecided', problems };

  const groupsOf = new Map((users ?? []).map(({ name, groups: of }) => [name, of]));
  const patterns = anyPatterns(budget);
  const spelling = spelledBy(guarantees, [...groupsOf.keys(), ...ids.values()]);
  const people = new UserUniverse([], [spelling, document], patterns, true);
  const [nothing, given] = [new EngineSets(spelling, patterns, people), new EngineSets(document, patterns, people)];
  const untouched = new Set(serviceAccounts.flatMap((name) => people.named(name)));
  const positionsOf = (principal: PolicyPrincipal): readonly number[] => {
    switch (principal.type) {
      case 'everyone':
        return people.names().map((_, position) => position);
      case 'engine':
        return people.named(principal.name);
      case 'user':
        return people.named(ids.get(principal.id) ?? '');
      case 'group': {
        const group = groups.get(principal.id) ?? '';
        return [...groupsOf].flatMap(([name, of]) => (of.includes(group) ? people.named(name) : []));
      }
    }
  };
  const judge = new GuaranteeJudge(guarantees, {
    width: given.width,
    positionsOf: (principal) => positionsOf(principal).filter((position) => !untouched.has(position)),
    named: (name) => people.named(name),
    isUnnamed: (position) => people.isUnnamed(position),
    metadataCatalog,
  });
  const isAsked = (fact: AccessFact): boolean => isPossible({ fact, people: [], strangers: [] });
  compareDocuments(
    nothing,
    given,
    {
      compare: (fact, words, _, holders) => {
        const asked = fact();
        if (holders !== null && isAsked(asked)) judge.see(asked, words, holders);
      },
      compareRight: (fact, _, holders) => {
        if (isAsked(fact)) judge.see(fact, given.everyWord, holders);
      },
      comparedEverywhere: () => undefined,
      comparedTable: () => undefined,
    },
    true,
  );

  const breach = (verdict: Verdict, { position, privilege, fact }: Witness): ForeignBreach => {
    const name = people.names()[position] ?? '';
    const isQuestion = fact.about !== 'row-filter' && fact.about !== 'hidden-column' && fact.about !== 'column-mask';
    const known = groupsOf.get(name) ?? [];
    const explained = isQuestion ? explainForeign(rules, { name, groups: known }, fact, budget) : null;
    const person = people.isUnnamed(position) ? standingForOthers(name) : name;
    return { guarantee: verdict.guarantee.name, person, privilege, fact, rule: explained?.rule ?? null };
  };
  const verdicts = judge.verdicts().map((verdict): ForeignVerdict => {
    const { guarantee, isBroken, brokenBy, witnesses } = verdict;
    return { guarantee, isBroken, brokenBy, breaches: witnesses.map((witness) => breach(verdict, witness)) };
  });
  return { kind: 'judged', verdicts };
}

/** Rules for groups are about listed users; all others also about those whom no list names. */
class ListedAndOthers implements Audiences {
  readonly everybody = undefined;

  constructor(private readonly listed: ListedUsers) {}

  audience(rule: ForeignRule): Audience {
    return groupPattern(rule) === undefined ? ANYBODY.audience(rule) : this.listed.audience(rule);
  }

  namesOf(rule: ForeignRule): string[] | null {
    return groupPattern(rule) === undefined ? null : this.listed.namesOf(rule);
  }
}

/** Rules that give nothing, and spell the names that are to be asked about. */
function spelledBy(guarantees: readonly Guarantee[], users: readonly string[]): RulesDocument {
  const nodes = guarantees.flatMap(({ scopes }) => scopes.map(({ resource }) => resource));
  const principals = guarantees.flatMap(({ principal, except }) => [principal, ...except]);
  const engines = [...principals, ...nodes.flatMap((node) => namedBy(node) ?? [])].flatMap((each) =>
    each.type === 'engine' ? [each.name] : [],
  );
  const named = nodes
    .filter(({ catalog }) => catalog !== undefined)
    .map((node) => {
      const { catalog, schema, table, routine } = nodeOf(node);
      const spelled = (name: string | undefined): string | undefined =>
        name === undefined ? undefined : anyOf([name]);
      return { catalog: spelled(catalog), schema: spelled(schema), table: spelled(table), routine: spelled(routine) };
    });
  const names = [...new Set([...users, ...engines])];
  return {
    ...NO_RULES,
    tables: named
      .flatMap((each) => (each.table === undefined ? [each] : [each, { ...each, table: `${each.table}[$].*` }]))
      .map(({ catalog, schema, table }) => withoutUndefined({ catalog, schema, table, privileges: [] })),
    functions: named
      .filter(({ table }) => table === undefined)
      .map(({ catalog, schema, routine }) => withoutUndefined({ catalog, schema, function: routine, privileges: [] })),
    procedures: named
      .filter(({ table }) => table === undefined)
      .map(({ catalog, schema, routine }) => withoutUndefined({ catalog, schema, procedure: routine, privileges: [] })),
    queries: [
      ...(names.length === 0 ? [] : [{ user: anyOf(names), allow: [] }]),
      // A rule with an owner makes the walk ask for each owner.
      ...(nodes.some(({ queries }) => queries !== undefined) ? [{ queryOwner: '.*', allow: [] }] : []),
    ],
  };
}

function withoutUndefined<T extends object>(rule: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
