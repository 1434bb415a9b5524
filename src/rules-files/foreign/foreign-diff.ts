import type { SectionName } from '../check/engine-format.js';
import {
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  groupPattern,
  inOneLine,
  isOfIdentity,
} from '../check/foreign-rules.js';
import { type AccessDiff, type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import type { OtherRight } from '../../trino-rules/diff/access-diff-form.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { INFORMATION_SCHEMA } from '../../trino-rules/engine/evaluator.js';
import type { AccessFact } from '../../trino-rules/engine/access-fact.js';
import {
  ANYBODY,
  foreignPatterns,
  type Audiences,
  canBeJudged,
  type ListedUser,
  ListedUsers,
  notJudgedText,
} from './audiences.js';
import { BUILTIN, foreignDocument, shownFilter, withComparableFilters } from './foreign-document.js';

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
 * All access that the rules of another file add and remove, for files that the engine loads. The section `principals` is not compared.
 * @param users users to compare for, with their groups; null: all users, by the patterns of files without rules for groups
 * @throws BudgetExceeded
 */
export function diffForeign(
  before: ForeignRules,
  after: ForeignRules,
  users: readonly ListedUser[] | null,
  budget: WorkBudget,
): ForeignDiff {
  const listed = users === null ? null : new ListedUsers(users, foreignPatterns(budget));
  const audiences = listed ?? ANYBODY;
  const [former, next] = [read('before', before, audiences, listed), read('after', after, audiences, listed)];
  const problems = [...former.problems, ...next.problems];
  if (problems.length > 0) return { kind: 'incomparable', problems };
  const documents = [withComparableFilters(former.document), withComparableFilters(next.document)] as const;
  const access: AccessDiff<AccessFact | OtherRight> = diffAccess(...documents, budget, foreignPatterns(budget));
  for (const relation of RELATIONS) {
    const pairs = (rules: ForeignRules): RulesDocument => relationDocument(rules, audiences, relation);
    const changed = diffAccess(pairs(before), pairs(after), budget, foreignPatterns(budget));
    access.gained.push(...changed.gained.flatMap((each) => related(each, relation)));
    access.lost.push(...changed.lost.flatMap((each) => related(each, relation)));
  }
  const names = users === null ? null : new Set(users.map(({ name }) => name));
  const asked = (differences: ForeignDifference[]): ForeignDifference[] =>
    differencesOfUsers(differences, names).map(({ fact, ...each }) => ({
      ...each,
      fact: fact.about === 'row-filter' ? { ...fact, expression: shownFilter(fact.expression) } : fact,
    }));
  return { kind: 'compared', access: { gained: asked(access.gained), lost: asked(access.lost) } };
}

type ForeignDifference = AccessDifference<AccessFact | OtherRight>;
function read(
  file: Incomparable['file'],
  rules: ForeignRules,
  audiences: Audiences,
  listed: ListedUsers | null,
): { document: RulesDocument; problems: Incomparable[] } {
  const problem = (rule: ForeignRule, at: number, message: string): Incomparable => ({
    ...{ file, rule: rule.place },
    ...{ at, message },
  });
  const about = [...rules.values()].flat().filter((rule) => audiences.audience(rule).user !== null);
  const ofGroups = about.flatMap((rule) => {
    const group = groupPattern(rule);
    if (listed !== null || group === undefined) return [];
    return [
      problem(rule, group.at, 'a rule for groups can only be compared for users of a list, which says who is in them'),
    ];
  });
  const ofOwners = about.flatMap((rule) =>
    [...(rule.section === 'authorization' ? rule.patterns : [])].flatMap(([field, { text, at }]) =>
      canBeJudged(text) ? [] : [problem(rule, at, notJudgedText(field, text))],
    ),
  );
  const { document, unjudged } = foreignDocument(rules, audiences, written);
  const ofPatterns = unjudged.map(({ rule, at, message }) => problem(rule, at, message));
  return { document, problems: [...ofGroups, ...ofPatterns, ...ofOwners].sort((a, b) => a.at - b.at) };
}

function written(expression: ForeignExpression): string {
  const sql = inOneLine(expression.text);
  return isOfIdentity(expression) ? `${sql} (evaluated as ${expression.runsAs})` : sql;
}

/** Only the differences that the engine can be asked about, for these users; null: for all. No user has an empty name. */
export function differencesOfUsers<Fact extends AccessFact | OtherRight>(
  differences: readonly AccessDifference<Fact>[],
  names: ReadonlySet<string> | null,
): AccessDifference<Fact>[] {
  return differences
    .filter(isAskable)
    .map((each) => ({
      ...each,
      people: each.people.filter((name) => names?.has(name) ?? name !== ''),
      strangers: names === null ? each.strangers : [],
    }))
    .filter(({ people, strangers }) => people.length + strangers.length > 0);
}

/**
 * Whether the engine can ask the rules about a fact: names are not empty and in lower case, its own functions and `information_schema`
 * are open by themselves, and the right to call a procedure cannot be passed on.
 */
export function isAskable({ fact }: Pick<ForeignDifference, 'fact'>): boolean {
  if (fact.about === 'session-property') return fact.catalog === null || isObjectName(fact.catalog);
  if (!('resource' in fact)) return true;
  const { catalog, schema, table, routine } = fact.resource;
  if (fact.about === 'schema-ownership' && schema === INFORMATION_SCHEMA) return false;
  if (fact.about === 'routine' && fact.kind === 'procedure' && fact.privilege !== 'EXECUTE') return false;
  if (fact.about === 'routine' && catalog === BUILTIN.catalog && schema === BUILTIN.schema) return false;
  return [catalog, schema, table, routine].every((name) => name === undefined || isObjectName(name));
}

function isObjectName(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}

/** A right on names of one kind, by the first rule that matches user and name. An absent section gives it to nobody. */
interface Relation {
  section: SectionName;
  /** The field with the pattern of names. */
  field: string;
  /** Rules without the field are not about the right at all. */
  isFieldRequired?: true;
  gives: (rule: ForeignRule) => boolean;
  right: (name: string) => OtherRight;
}

const RELATIONS: readonly Relation[] = [
  ...(['user', 'role'] as const).map((to): Relation => ({
    section: 'authorization',
    field: `new_${to}`,
    isFieldRequired: true,
    gives: ({ gives }) => gives.includes('true'),
    right: (name) => ({ about: 'authorization', to, name }),
  })),
  {
    section: 'catalogs',
    field: 'catalog',
    gives: ({ gives }) => gives.includes('owner'),
    right: (catalog) => ({ about: 'catalog-ownership', resource: { catalog } }),
  },
];

/** A relation as rules about session properties, which decide in the same way: each name becomes a property. */
function relationDocument(rules: ForeignRules, audiences: Audiences, relation: Relation): RulesDocument {
  const { section, field, isFieldRequired, gives } = relation;
  const pairs = (rules.get(section) ?? []).flatMap((rule) => {
    const { user } = audiences.audience(rule);
    const names = rule.patterns.get(field)?.text;
    if (user === null || (isFieldRequired && names === undefined)) return [];
    return [
      { ...(user !== undefined && { user }), ...(names !== undefined && { property: names }), allow: gives(rule) },
    ];
  });
  const { everybody } = audiences;
  // The last rule changes nothing but names every listed user, so that all are compared.
  const last = everybody === undefined ? [] : [{ user: everybody, allow: false }];
  return { ...NO_RULES, system_session_properties: [...pairs, ...last] };
}

function related({ fact, ...users }: AccessDifference, { right }: Relation): AccessDifference<OtherRight>[] {
  return fact.about === 'session-property' ? [{ ...users, fact: right(fact.property) }] : [];
}
