import { nameProblem } from '../../kernel/name.js';
import { patternOfNames } from '../../trino-rules/compile/name-pattern.js';
import { compareDocuments, type DocumentComparisonSink } from '../../trino-rules/diff/access-diff.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { type AccessFact, markRepresentative } from '../../trino-rules/engine/access-fact.js';
import { decidingRule } from '../../trino-rules/engine/deciding-rule.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Bitset } from '../../trino-rules/engine/sparse-bitset.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { GuaranteeReader } from '../../trino-rules/model/guarantee-file.js';
import { type Guarantee, principalsIn } from '../../trino-rules/model/guarantee.js';
import type { Node } from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, type Principal, PRINCIPAL_TYPES } from '../../trino-rules/model/principal.js';
import { SnapshotDecoder, type SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { SnapshotRowReader } from '../../trino-rules/model/snapshot-rows.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { breachText, GuaranteeJudge, type Verdict, type Witness } from '../../trino-rules/verify/guarantee-judge.js';
import { type ForeignRule, type ForeignRules, groupPattern } from '../check/foreign-rules.js';
import { ALL_USERS, newPatternCache, type Audiences, ListedUsers, type ListedUser } from './audiences.js';
import { foreignDocument } from './foreign-document.js';
import { isAskable } from './foreign-diff.js';

/** The guarantees of a file, with the names of the principals in them. */
export interface NamedGuarantees {
  guarantees: Guarantee[];
  /** Names of users by their ids in the guarantees. */
  users: ReadonlyMap<number, string>;
  groups: ReadonlyMap<number, string>;
}

/** The service accounts and the catalog to which guarantees do not apply. */
type ExemptSettings = Pick<SnapshotSettings, 'serviceAccounts' | 'metadataCatalog'>;

/** Reads `guarantees` of a snapshot file, with names of principals instead of ids; ignores the rest of the file. */
export function readGuarantees(
  value: unknown,
  settings: ExemptSettings,
): { kind: 'read'; namedGuarantees: NamedGuarantees } | { kind: 'refused'; problems: SnapshotProblem[] } {
  const decoder = new SnapshotDecoder();
  const rows = typeof value === 'object' && value !== null && 'guarantees' in value ? value.guarantees : undefined;
  const principals = principalsByName(decoder, settings.serviceAccounts);
  const reader = new GuaranteeReader(decoder, new SnapshotRowReader(decoder, principals, settings));
  const guarantees = decoder.list(rows, 'guarantees', (each, path) => reader.readGuarantee(each, path, 0));
  if (decoder.problems.length > 0) return { kind: 'refused', problems: decoder.problems };
  return { kind: 'read', namedGuarantees: { guarantees, ...principals.names } };
}

/** Decodes principals by name, and gives them ids. Accepts any name, because no list has all users of the engine. */
function principalsByName(decoder: SnapshotDecoder, serviceAccounts: readonly string[]) {
  const namesByType = { users: new Map<number, string>(), groups: new Map<number, string>() };
  const readPrincipal = (value: unknown, path: string): Principal => {
    const row = decoder.object(value, path, ['type', 'name']);
    const type = decoder.oneOf<Principal['type']>(row.type, `${path}.type`, PRINCIPAL_TYPES) ?? 'user';
    const name = decoder.text(row.name, `${path}.name`, nameProblem);
    if (type !== 'group' && serviceAccounts.includes(name))
      decoder.addProblem(`${path}.name`, 'is a service account, which no guarantee is about');
    if (type === 'engine') return { type, name };
    const namesById = namesByType[`${type}s`];
    namesById.set(namesById.size, name);
    return { type, id: namesById.size - 1 };
  };
  return { names: namesByType, readPrincipal };
}

/** The access of a person that breaks a guarantee. */
export interface ForeignBreach extends Pick<Witness, 'privilege' | 'fact'> {
  /** The person's name. A name from `markRepresentative` stands for all users whom no rule names. */
  person: string;
  message: string;
  /** The rule that gives the access; null: no rule matches, or the section is absent. */
  rule: ForeignRule | null;
}

export interface ForeignVerdict extends Pick<Verdict, 'guarantee' | 'isBroken' | 'brokenBy'> {
  breaches: ForeignBreach[];
}

export type GuaranteeTest =
  | { kind: 'judged'; verdicts: ForeignVerdict[] }
  | { kind: 'undecided'; problems: RuleProblem[] };

interface RuleProblem {
  rule: string;
  at: number;
  message: string;
}

/**
 * Judges whether a rules file keeps guarantees: for listed users, for names in rules and guarantees, and for made-up users.
 * @param users with their groups; null: there is no list, and no rule may be for a group
 * @throws BudgetExceeded
 */
export function testForeignGuarantees(
  rules: ForeignRules,
  { guarantees, ...principalNames }: NamedGuarantees,
  users: readonly ListedUser[] | null,
  { serviceAccounts, metadataCatalog }: ExemptSettings,
  budget: WorkBudget,
): GuaranteeTest {
  const audiences = users === null ? ALL_USERS : audiencesBeyondList(new ListedUsers(users, newPatternCache(budget)));
  const groupProblems = users === null ? [...rules.values()].flat().flatMap(groupProblem) : [];
  const conversion = foreignDocument(rules, audiences, ({ text }) => text);
  const { document, unjudgedPatterns: unjudged } = conversion;
  const problems = [...groupProblems, ...unjudged.map(({ rule, at, message }) => ({ rule: rule.place, at, message }))];
  if (problems.length > 0) return { kind: 'undecided', problems };

  const groupsByUser = new Map((users ?? []).map(({ name, groups: userGroups }) => [name, userGroups]));
  const patterns = newPatternCache(budget);
  const namesOf = (principal: PolicyPrincipal): string[] => {
    if (principal.type === 'everyone') return [];
    const name = 'name' in principal ? principal.name : (principalNames[`${principal.type}s`].get(principal.id) ?? '');
    if (principal.type !== 'group') return [name];
    return [...groupsByUser].flatMap(([user, userGroups]) => (userGroups.includes(name) ? [user] : []));
  };
  const namedUsers = guarantees.flatMap(principalsIn).flatMap(namesOf);
  const guaranteeRules = rulesOfGuarantees(guarantees, [...new Set([...groupsByUser.keys(), ...namedUsers])]);
  const universe = new UserUniverse([], [guaranteeRules, document], patterns, true);
  const guaranteeSets = new EngineSets(guaranteeRules, patterns, universe);
  const fileSets = new EngineSets(document, patterns, universe);
  const exemptPositions = new Set(serviceAccounts.flatMap((name) => universe.positionsOf(name)));
  const positionsOf = (principal: PolicyPrincipal): readonly number[] =>
    principal.type === 'everyone'
      ? [...universe.names().keys()]
      : namesOf(principal).flatMap((name) => universe.positionsOf(name));
  const judgedPositionsOf = (principal: PolicyPrincipal) =>
    positionsOf(principal).filter((position) => !exemptPositions.has(position));
  // A file does not tell whose account is deactivated.
  const resolver = { positionsOf: judgedPositionsOf, ownersOf: judgedPositionsOf, metadataCatalog };
  const judge = new GuaranteeJudge(guarantees, fileSets, resolver);
  const addHolders = (fact: AccessFact, activeWords: Uint32Array, holders: Bitset): void => {
    if (isAskable({ fact })) judge.addHolders(fact, activeWords, holders);
  };
  const comparisonSink: DocumentComparisonSink = {
    compare: (fact, activeWords, _, holders) => holders && addHolders(fact(), activeWords, holders),
    compareHolders: (fact, _, holders) => addHolders(fact, fileSets.everyWordIndex, holders),
  };
  compareDocuments(guaranteeSets, fileSets, comparisonSink, true);

  const evaluator = new Evaluator(document, patterns);
  const verdicts = judge.verdicts().map(({ guarantee, isBroken, brokenBy, witnesses }): ForeignVerdict => {
    const breachOf = (witness: Witness): ForeignBreach => {
      const { userPosition, privilege, fact } = witness;
      const name = universe.names()[userPosition] ?? '';
      const location = decidingRule(evaluator, fact, name);
      const rule = location && conversion.sourceOf(document[location.section][location.index] ?? {});
      const person = universe.isRepresentative(userPosition) ? markRepresentative(name) : name;
      return { person, privilege, fact, message: breachText(guarantee, witness, person), rule };
    };
    const allBreaches = (isBroken ? witnesses : []).map((each) =>
      [each, each.secondWitness ?? []].flat().map(breachOf),
    );
    // Two made-up users can have the same text: each may view the queries of the other.
    const textOf = (breaches: ForeignBreach[]) => breaches.map(({ message, rule }) => [message, rule?.place]).join();
    const distinctBreaches = [...new Map(allBreaches.map((each) => [textOf(each), each])).values()];
    const repeats = allBreaches.length - distinctBreaches.length;
    return { guarantee, isBroken, brokenBy: brokenBy - repeats, breaches: distinctBreaches.flat() };
  });
  return { kind: 'judged', verdicts };
}

function groupProblem(rule: ForeignRule): RuleProblem[] {
  const group = groupPattern(rule);
  if (group === undefined) return [];
  const message = 'a rule for groups needs the users and their groups (--users)';
  return [{ rule: rule.place, at: group.at, message }];
}

/** Rules for groups apply only to listed users. All other rules also apply to unlisted users. */
function audiencesBeyondList(listedUsers: ListedUsers): Audiences {
  const audiencesFor = (rule: ForeignRule): Audiences => (groupPattern(rule) === undefined ? ALL_USERS : listedUsers);
  return {
    everybodyPattern: undefined,
    audience: (rule) => audiencesFor(rule).audience(rule),
    namesOf: (rule) => audiencesFor(rule).namesOf(rule),
  };
}

/** Rules that give nothing. They name the users and nodes of guarantees, so that the comparison also evaluates these names. */
function rulesOfGuarantees(guarantees: readonly Guarantee[], users: readonly string[]): RulesDocument {
  const scopeNodes = guarantees.flatMap((guarantee) => guarantee.scopes.map(({ resource }) => resource));
  const nodes = scopeNodes.filter(({ catalog }) => catalog !== undefined);
  const namePattern = <K extends string>(key: K, name: string | undefined) =>
    (name === undefined ? {} : { [key]: patternOfNames([name]) }) as Partial<Record<K, string>>;
  const nodePatterns = ({ catalog, schema }: Node) => ({
    ...namePattern('catalog', catalog),
    ...namePattern('schema', schema),
    privileges: [],
  });
  const nodesAboveTables = nodes.filter(({ table }) => table === undefined);
  return {
    ...NO_RULES,
    tables: nodes.flatMap((node) => {
      const { table } = namePattern('table', node.table);
      const patterns = nodePatterns(node);
      return table === undefined ? [patterns] : [table, `${table}[$].*`].map((each) => ({ ...patterns, table: each }));
    }),
    functions: nodesAboveTables.map((node) => ({ ...nodePatterns(node), ...namePattern('function', node.routine) })),
    procedures: nodesAboveTables.map((node) => ({ ...nodePatterns(node), ...namePattern('procedure', node.routine) })),
    queries: [
      ...(users.length === 0 ? [] : [{ user: patternOfNames(users), allow: [] }]),
      // A rule with `queryOwner` makes the comparison evaluate each owner.
      ...(scopeNodes.some(({ queries }) => queries !== undefined) ? [{ queryOwner: '.*', allow: [] }] : []),
    ],
  };
}
