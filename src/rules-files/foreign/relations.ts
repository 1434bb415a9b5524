import type { SectionName } from '../check/engine-format.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import type { OtherRight } from '../../trino-rules/diff/other-right.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { Audiences } from './audiences.js';

/** A right on names of one kind, by the first rule that matches user and name. */
export interface Relation {
  section: SectionName;
  /** The field with the pattern of names; null: the right has none. */
  field: string | null;
  /** Rules without the field are not about the right at all. */
  isFieldRequired?: true;
  gives: (rule: ForeignRule) => boolean;
  whenAbsent: boolean;
  right: (name: string) => OtherRight;
}

export const RELATIONS: readonly Relation[] = [
  ...(['view', 'kill'] as const).map((right): Relation => ({
    section: 'queries',
    field: 'queryOwner',
    gives: ({ gives }) => gives.includes(right),
    whenAbsent: true,
    right: (owner) => ({ about: 'queries-of-owner', right, owner }),
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
export function relationDocument(rules: ForeignRules, audiences: Audiences, relation: Relation): RulesDocument {
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

/** Without rights on one's own queries, which need no rule. */
export function related(
  { fact, people, strangers }: AccessDifference,
  { right }: Relation,
): AccessDifference<OtherRight>[] {
  if (fact.about !== 'session-property') return [];
  const given = right(fact.property);
  const others = given.about === 'queries-of-owner' ? people.filter((name) => name !== given.owner) : people;
  return others.length + strangers.length === 0 ? [] : [{ fact: given, people: others, strangers }];
}
