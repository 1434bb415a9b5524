import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { compareDocuments, type DocumentComparisonSink } from '../../trino-rules/diff/document-comparison.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { type AccessFact, standingForOthers } from '../../trino-rules/engine/access-fact.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import type { Bitset } from '../../trino-rules/engine/sparse-bitset.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import { type Guarantee, principalsIn } from '../../trino-rules/model/guarantee.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import { SnapshotDecoder, type SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotNames, SnapshotRows } from '../../trino-rules/model/snapshot-rows.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { breachText, GuaranteeJudge, type Verdict, type Witness } from '../../trino-rules/verify/guarantee-judge.js';
import { type ForeignRule, type ForeignRules, groupPattern } from '../check/foreign-rules.js';
import { ANYBODY, foreignPatterns, type Audiences, ListedUsers, type ListedUser } from './audiences.js';
import { foreignDocument } from './foreign-document.js';
import { explainForeign } from './foreign-explanation.js';
import { isAskable } from './foreign-diff.js';

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
  const rowsOf = (names: ReadonlyMap<number, string>) => [...names].map(([id, name]) => ({ id, name, isActive: true }));
  const names = new SnapshotNames(form, rowsOf(users), rowsOf(groups), settings);
  const reader = new GuaranteeReader(form, names, new SnapshotRows(form, names, settings));
  const guarantees = form.list(listed, 'guarantees', (each, path) => reader.guarantee(each, path, 0));
  if (form.problems.length > 0) return { kind: 'refused', problems: form.problems };
  return { kind: 'read', read: { guarantees, users, groups } };
}

/** Every name of that type in a value of any shape, numbered. */
function namesOfType(value: unknown, type: string): ReadonlyMap<number, string> {
  const found = new Set<string>();
  const visit = (each: unknown): void => {
    if (typeof each !== 'object' || each === null) return;
    if ('type' in each && each.type === type && 'name' in each && typeof each.name === 'string') found.add(each.name);
    for (const inner of Object.values(each)) visit(inner);
  };
  visit(value);
  return new Map([...found].map((name, i) => [i + 1, name]));
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
  | { kind: 'undecided'; problems: RuleProblem[] };

interface RuleProblem {
  rule: string;
  at: number;
  message: string;
}

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
  const audiences = users === null ? ANYBODY : listedAndOthers(new ListedUsers(users, foreignPatterns(budget)));
  const forGroups = users === null ? [...rules.values()].flat().flatMap(groupProblem) : [];
  const { document, unjudged } = foreignDocument(rules, audiences, ({ text }) => text);
  const problems = [...forGroups, ...unjudged.map(({ rule, at, message }) => ({ rule: rule.place, at, message }))];
  if (problems.length > 0) return { kind: 'undecided', problems };

  const groupsOf = new Map((users ?? []).map(({ name, groups: of }) => [name, of]));
  const patterns = foreignPatterns(budget);
  const spelling = spelledBy(guarantees, [...groupsOf.keys(), ...ids.values()]);
  const people = new UserUniverse([], [spelling, document], patterns, true);
  const [nothing, given] = [new EngineSets(spelling, patterns, people), new EngineSets(document, patterns, people)];
  const untouched = new Set(serviceAccounts.flatMap((name) => people.named(name)));
  const namesOf = (principal: Principal): string[] => {
    if (principal.type !== 'group') return ['name' in principal ? principal.name : (ids.get(principal.id) ?? '')];
    const group = groups.get(principal.id) ?? '';
    return [...groupsOf].flatMap(([name, of]) => (of.includes(group) ? [name] : []));
  };
  const positionsOf = (principal: PolicyPrincipal): readonly number[] =>
    principal.type === 'everyone'
      ? [...people.names().keys()]
      : namesOf(principal).flatMap((name) => people.named(name));
  const judge = new GuaranteeJudge(guarantees, given, {
    positionsOf: (principal) => positionsOf(principal).filter((position) => !untouched.has(position)),
    metadataCatalog,
  });
  const see = (fact: AccessFact, words: Uint32Array, holders: Bitset): void => {
    if (isAskable({ fact })) judge.addHolders(fact, words, holders);
  };
  const sink: DocumentComparisonSink = {
    compare: (fact, words, _, holders) => holders && see(fact(), words, holders),
    compareRight: (fact, _, holders) => see(fact, given.everyWord, holders),
  };
  compareDocuments(nothing, given, sink, true);

  const verdicts = judge.verdicts().map(({ guarantee, isBroken, brokenBy, witnesses }): ForeignVerdict => {
    const pairs = (isBroken ? witnesses : []).flatMap((each) => [each, each.second ?? []].flat());
    const breaches = pairs.map((witness): ForeignBreach => {
      const { position, privilege, fact } = witness;
      const name = people.names()[position] ?? '';
      const rule = explainForeign(rules, { name, groups: groupsOf.get(name) ?? [] }, fact, budget).rule;
      const person = people.isUnnamed(position) ? standingForOthers(name) : name;
      return { person, privilege, fact, message: breachText(guarantee, witness, person), rule };
    });
    return { guarantee, isBroken, brokenBy, breaches };
  });
  return { kind: 'judged', verdicts };
}

function groupProblem(rule: ForeignRule): RuleProblem[] {
  const group = groupPattern(rule);
  if (group === undefined) return [];
  const message = 'a rule for groups needs the users and their groups (--users)';
  return [{ rule: rule.place, at: group.at, message }];
}

/** Rules for groups apply only to listed users; all other rules also to unlisted ones. */
function listedAndOthers(listed: ListedUsers): Audiences {
  const ofRule = (rule: ForeignRule): Audiences => (groupPattern(rule) === undefined ? ANYBODY : listed);
  return {
    everybody: undefined,
    audience: (rule) => ofRule(rule).audience(rule),
    namesOf: (rule) => ofRule(rule).namesOf(rule),
  };
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
