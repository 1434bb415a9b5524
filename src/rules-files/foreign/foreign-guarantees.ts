import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { compareDocuments } from '../../trino-rules/diff/document-comparison.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { type AccessFact, isRestriction, standingForOthers } from '../../trino-rules/engine/access-fact.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import { type Guarantee, principalsIn } from '../../trino-rules/model/guarantee.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { SnapshotDecoder, type SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotNames, SnapshotRows } from '../../trino-rules/model/snapshot-rows.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { breachText, GuaranteeJudge, type Verdict, type Witness } from '../../trino-rules/verify/guarantee-judge.js';
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

/** The service accounts and the catalog that guarantees do not cover. */
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
  const guarantees = form.list(listed, 'guarantees', (each, path) => reader.guarantee(each, path, 0));
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
export interface ForeignBreach extends Pick<Witness, 'privilege' | 'fact'> {
  /** A name, or one that stands for users whom no rule spells (`standingForOthers`). */
  person: string;
  /** In words. */
  message: string;
  /** The deciding rule; null: none matches, or its section is absent. */
  rule: ForeignRule | null;
}

export interface ForeignVerdict extends Pick<Verdict, 'guarantee' | 'isBroken' | 'brokenBy'> {
  breaches: ForeignBreach[];
}

export type GuaranteeTest =
  | { kind: 'judged'; verdicts: ForeignVerdict[] }
  /** Patterns that match unknown names, or rules for groups without a list of users. */
  | { kind: 'undecided'; problems: { rule: string; at: number; message: string }[] };

/**
 * Judges guarantees by any rules file: for the users of a list, the names that rules and guarantees spell, one name of each kind that
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

  const verdicts = judge.verdicts().map(({ guarantee, isBroken, brokenBy, witnesses }): ForeignVerdict => {
    const breaches = witnesses.map(({ position, privilege, fact }, i): ForeignBreach => {
      const name = people.names()[position] ?? '';
      const known = groupsOf.get(name) ?? [];
      const explained = isRestriction(fact) ? null : explainForeign(rules, { name, groups: known }, fact, budget);
      const person = people.isUnnamed(position) ? standingForOthers(name) : name;
      const message = breachText(guarantee, i, person, fact);
      return { person, privilege, fact, message, rule: explained?.rule ?? null };
    });
    return { guarantee, isBroken, brokenBy, breaches: isBroken ? breaches : [] };
  });
  return { kind: 'judged', verdicts };
}

/** Rules for groups apply only to listed users; all other rules also to unlisted ones. */
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
  const scopes = guarantees.flatMap((guarantee) => guarantee.scopes.map(({ resource }) => resource));
  const engines = guarantees.flatMap(principalsIn).flatMap((each) => (each.type === 'engine' ? [each.name] : []));
  const names = [...new Set([...users, ...engines])];
  const nodes = scopes.filter(({ catalog }) => catalog !== undefined);
  const spelled = <K extends string>(key: K, name: string | undefined) =>
    (name === undefined ? {} : { [key]: anyOf([name]) }) as Partial<Record<K, string>>;
  const at = ({ catalog, schema }: Node) => ({
    ...spelled('catalog', catalog),
    ...spelled('schema', schema),
    privileges: [],
  });
  const above = nodes.filter(({ table }) => table === undefined);
  return {
    ...NO_RULES,
    tables: nodes.flatMap((node) => {
      const { table } = spelled('table', node.table);
      return table === undefined ? [at(node)] : [table, `${table}[$].*`].map((each) => ({ ...at(node), table: each }));
    }),
    functions: above.map((node) => ({ ...at(node), ...spelled('function', node.routine) })),
    procedures: above.map((node) => ({ ...at(node), ...spelled('procedure', node.routine) })),
    queries: [
      ...(names.length === 0 ? [] : [{ user: anyOf(names), allow: [] }]),
      // Because of a rule with `queryOwner` each owner is evaluated.
      ...(scopes.some(({ queries }) => queries !== undefined) ? [{ queryOwner: '.*', allow: [] }] : []),
    ],
  };
}
