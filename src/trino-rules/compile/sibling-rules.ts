import type { IntentSets } from './intent-sets.js';
import { anyOf, typicalLength } from './name-pattern.js';
import { rectangles, type Sibling } from './rectangles.js';
import type { WideRule } from './table-rule-order.js';

/** The patterns that rules about siblings share: users, and the levels above. */
export interface SiblingRule {
  user?: string;
  catalog?: string;
  schema?: string;
  table?: string;
  function?: string;
  procedure?: string;
}

/** What the siblings are. */
type SiblingKind = Exclude<keyof SiblingRule, 'user'>;

/** Writes the rules of a section for some siblings: few of them, in the order in which the engine must find them. */
export class SiblingRules {
  private readonly person: number;

  constructor(private readonly intent: IntentSets) {
    // Only of users that rules can name: users without access must leave no trace in the bytes.
    this.person = typicalLength(intent.principals.namesOf(intent.reachesSomething));
  }

  /** @param where the patterns of the levels above. */
  of<O extends object>(siblings: readonly Sibling<O>[], level: SiblingKind, where: SiblingRule): (SiblingRule & O)[] {
    return this.about(siblings, level, where).map(({ rule }) => rule);
  }

  /** The same, each with the names of the siblings that it is about. */
  about<O extends object>(
    siblings: readonly Sibling<O>[],
    level: SiblingKind,
    where: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    const uncovered = siblings.filter(({ parts }) => parts.some(({ must }) => !must.isEmpty()));
    const cost = {
      person: this.person,
      sibling: typicalLength(uncovered.map(({ name }) => name)),
      rule: (effect: O) => JSON.stringify({ user: '', ...where, [level]: '', ...effect }).length + SEPARATOR,
    };
    return rectangles(uncovered, cost).map(({ effect, people, names }) => {
      const user = people && { user: anyOf(this.intent.principals.namesOf(people)) };
      return { names, rule: { ...user, ...where, [level]: anyOf(names), ...effect } };
    });
  }
}

/** A comma and the end of the line. */
const SEPARATOR = 2;
