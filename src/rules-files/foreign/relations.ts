import type { SectionName } from '../check/engine-format.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import type { OtherRight } from '../../trino-rules/diff/other-right.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { Audiences } from './audiences.js';

/** A right on names of one kind, by the first rule that matches user and name. An absent section gives it to nobody. */
export interface Relation {
  section: SectionName;
  /** The field with the pattern of names. */
  field: string;
  /** Rules without the field are not about the right at all. */
  isFieldRequired?: true;
  gives: (rule: ForeignRule) => boolean;
  right: (name: string) => OtherRight;
}

export const RELATIONS: readonly Relation[] = [
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

/** A relation as the rules of a section with the same logic, whose properties are its names. */
export function relationDocument(rules: ForeignRules, audiences: Audiences, relation: Relation): RulesDocument {
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
  // The last rule only names the users of a list.
  const last = everybody === undefined ? [] : [{ user: everybody, allow: false }];
  return { ...NO_RULES, system_session_properties: [...pairs, ...last] };
}

export function related({ fact, ...users }: AccessDifference, { right }: Relation): AccessDifference<OtherRight>[] {
  return fact.about === 'session-property' ? [{ ...users, fact: right(fact.property) }] : [];
}
