import type { SectionName } from '../check/engine-format.js';
import type { ForeignExpression, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { type AccessDiff, type AccessDifference, diffAccess } from '../diff/access-diff.js';
import type { OtherRight } from '../diff/other-right.js';
import { NO_RULES, type RulesDocument } from '../document/rules-document.js';
import type { WorkBudget } from '../document/work-budget.js';
import type { AccessFact } from '../engine/access-fact.js';
import {
  ANYBODY,
  anyPatterns,
  type Audiences,
  groupPattern,
  isJudged,
  ListedUsers,
  type ListedUser,
} from './audiences.js';
import { foreignDocument } from './foreign-document.js';
import { impersonationRules } from './impersonation.js';

/** Why two files cannot be compared: a rule of one, and what is wrong with it. */
export interface Incomparable {
  file: 'before' | 'after';
  /** `tables[12]` */
  rule: string;
  at: number;
  message: string;
}

export type ForeignDiff =
  | { kind: 'compared'; access: AccessDiff<AccessFact | OtherRight> }
  | { kind: 'incomparable'; problems: Incomparable[] };

/**
 * All access that the rules of another file add and remove, for files that the engine loads. Which principal is which user is not
 * compared.
 * @param users whom to compare for, with their groups; null: everybody, by the files' own patterns, where no rule is for a group
 * @throws BudgetExceeded
 */
export function diffForeign(
  before: ForeignRules,
  after: ForeignRules,
  users: readonly ListedUser[] | null,
  budget: WorkBudget,
): ForeignDiff {
  const listed = users === null ? null : new ListedUsers(users, anyPatterns(budget));
  const audiences = listed ?? ANYBODY;
  const documents = [before, after].map((rules) => read(rules, audiences, listed));
  const files = ['before', 'after'] as const;
  const problems = documents.flatMap(({ problems }, i) =>
    problems.map((problem) => ({ file: files[i] ?? 'before', ...problem })),
  );
  if (problems.length > 0) return { kind: 'incomparable', problems };
  const [former = NO_RULES, next = NO_RULES] = documents.map(({ document }) => document);
  const access: AccessDiff<AccessFact | OtherRight> = diffAccess(former, next, budget, anyPatterns(budget));
  const byOwner = [before, after].some((rules) =>
    (rules.get('queries') ?? []).some(({ patterns }) => patterns.has('queryOwner')),
  );
  if (byOwner) {
    const isOfNobody = ({ fact }: AccessDifference<AccessFact | OtherRight>): boolean =>
      fact.about !== 'queries' || fact.right === 'execute';
    access.gained = access.gained.filter(isOfNobody);
    access.lost = access.lost.filter(isOfNobody);
  }
  for (const relation of RELATIONS) {
    if (relation.section === 'queries' && !byOwner) continue;
    const { gained, lost } = diffAccess(
      relationDocument(before, audiences, relation),
      relationDocument(after, audiences, relation),
      budget,
      anyPatterns(budget),
    );
    access.gained.push(...gained.flatMap((each) => related(each, relation)));
    access.lost.push(...lost.flatMap((each) => related(each, relation)));
  }
  const possible = { gained: access.gained.filter(isPossible), lost: access.lost.filter(isPossible) };
  return { kind: 'compared', access: users === null ? possible : ofUsers(possible, users) };
}

type Problem = Omit<Incomparable, 'file'>;

function read(
  rules: ForeignRules,
  audiences: Audiences,
  listed: ListedUsers | null,
): { document: RulesDocument; problems: Problem[] } {
  const problems: Problem[] = [];
  for (const rule of [...rules.values()].flat()) {
    if (rule.section === 'principals' || audiences.audience(rule).user === null) continue;
    const group = groupPattern(rule);
    if (listed === null && group !== undefined)
      problems.push({
        rule: rule.place,
        at: group.at,
        message: 'a rule for groups can only be compared for users of a list, which says who is in them',
      });
    for (const [field, { text, at }] of rule.patterns) {
      const isReplacement = rule.section === 'impersonation' && field === 'new_user';
      if (!isReplacement && !isJudged(text))
        problems.push({
          rule: rule.place,
          at,
          message: `the names that the ${field} ${JSON.stringify(text)} matches cannot be told`,
        });
    }
  }
  const impersonation = impersonationRules(rules, audiences, listed);
  const { document } = foreignDocument(rules, audiences, written);
  return {
    document: { ...document, impersonation: impersonation.rules },
    problems: [...problems, ...impersonation.problems],
  };
}

function written({ text, runsAs }: ForeignExpression): string {
  return runsAs === null ? text : `${text} (evaluated as ${runsAs})`;
}

/** A right on names of one kind, by the first rule that matches user and name. */
interface Relation {
  section: SectionName;
  /** The field with the pattern of names; null: the right has none. */
  field: string | null;
  /** Rules without the field are not about the right at all. */
  isFieldRequired?: true;
  gives: (rule: ForeignRule) => boolean;
  whenAbsent: boolean;
  right: (name: string) => OtherRight;
}

const RELATIONS: readonly Relation[] = [
  ...(['view', 'kill'] as const).map((right): Relation => ({
    section: 'queries',
    field: 'queryOwner',
    gives: ({ gives }) => gives.includes(right),
    whenAbsent: true,
    right: (owner) => ({ about: 'queries-of-owner', right, owner }),
  })),
  ...(['read', 'write'] as const).map((right): Relation => ({
    section: 'system_information',
    field: null,
    gives: ({ gives }) => gives.includes(right),
    whenAbsent: false,
    right: () => ({ about: 'system-information', right }),
  })),
  ...(['user', 'role'] as const).map((to): Relation => ({
    section: 'authorization',
    field: `new_${to}`,
    isFieldRequired: true,
    gives: ({ gives }) => gives.includes('true'),
    whenAbsent: false,
    right: (name) => ({ about: 'authorization', to, name }),
  })),
  {
    section: 'catalogs',
    field: 'catalog',
    gives: ({ gives }) => gives.includes('owner'),
    whenAbsent: false,
    right: (catalog) => ({ about: 'catalog-ownership', resource: { catalog } }),
  },
];

/** A relation as the rules of a section with the same logic, whose properties are its names. */
function relationDocument(rules: ForeignRules, audiences: Audiences, relation: Relation): RulesDocument {
  const { section, field, isFieldRequired, gives, whenAbsent } = relation;
  const found = rules.get(section);
  const pairs = found?.flatMap((rule) => {
    const { user } = audiences.audience(rule);
    const names = field === null ? undefined : rule.patterns.get(field)?.text;
    if (user === null || (isFieldRequired && names === undefined)) return [];
    return [
      { ...(user !== undefined && { user }), ...(names !== undefined && { property: names }), allow: gives(rule) },
    ];
  });
  const { everybody } = audiences;
  // The last rule only names the users of a list.
  const last = everybody === undefined ? [] : [{ user: everybody, allow: false }];
  return { ...NO_RULES, system_session_properties: [...(pairs ?? (whenAbsent ? [{ allow: true }] : [])), ...last] };
}

/** What concerns oneself needs no rule. */
function related({ fact, people, strangers }: AccessDifference, { right }: Relation): AccessDifference<OtherRight>[] {
  if (fact.about !== 'session-property') return [];
  const given = right(fact.property);
  const others = given.about === 'queries-of-owner' ? people.filter((name) => name !== given.owner) : people;
  return others.length + strangers.length === 0 ? [] : [{ fact: given, people: others, strangers }];
}

function ofUsers<Fact>({ gained, lost }: AccessDiff<Fact>, users: readonly ListedUser[]): AccessDiff<Fact> {
  const names = new Set(users.map(({ name }) => name));
  const own = (differences: readonly AccessDifference<Fact>[]): AccessDifference<Fact>[] =>
    differences
      .map((each) => ({ ...each, people: each.people.filter((name) => names.has(name)), strangers: [] }))
      .filter(({ people }) => people.length > 0);
  return { gained: own(gained), lost: own(lost) };
}

/** Whether the engine can have an object of this name: it writes names in lower case, and none is empty. */
export function isPossible({ fact }: AccessDifference<AccessFact | OtherRight>): boolean {
  if (fact.about === 'session-property') return fact.catalog === null || isObjectName(fact.catalog);
  if (!('resource' in fact)) return true;
  const { catalog, schema, table } = fact.resource;
  return [catalog, schema, table].every((name) => name === undefined || isObjectName(name));
}

function isObjectName(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}
