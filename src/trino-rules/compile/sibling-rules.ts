import type { RoutineKind } from './engine-terms.js';
import type { IntentSets } from './intent-sets.js';
import { anyOf, typicalLength } from './name-pattern.js';
import { areCompanions, tablePatterns } from './companion-rules.js';
import { type Rectangle, rectangles, type Sibling } from './rectangles.js';
import type { Scope } from './resource-tree.js';
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

/** What the siblings are; everything has none. */
type SiblingKind = Scope | RoutineKind;

/** Writes the rules of a section for some siblings: few of them, in the order in which the engine must find them. */
export class SiblingRules {
  private readonly person: number;

  constructor(private readonly intent: IntentSets) {
    // Only of users that rules can name: users without access must leave no trace in the bytes.
    this.person = typicalLength(intent.principals.namesOf(intent.reachesSomething));
  }

  /** @param where the patterns of the levels above. */
  of<O extends object>(siblings: readonly Sibling<O>[], scope: SiblingKind, where: SiblingRule): (SiblingRule & O)[] {
    return this.about(siblings, scope, where).map(({ rule }) => rule);
  }

  /** The same, each with the names of the siblings that it is about. */
  about<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    where: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    return this.written(this.rectanglesOf(siblings, scope, where), scope, where);
  }

  /** Rules to be, which `written` writes. */
  rectanglesOf<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    where: SiblingRule,
  ): Rectangle<O>[] {
    const uncovered = siblings.filter(({ parts }) => parts.some(({ must }) => !must.isEmpty()));
    const cost = {
      person: this.person,
      sibling:
        scope === 'everything'
          ? 0
          : typicalLength(uncovered.map(({ name }) => name).filter((name) => !areCompanions(name))),
      rule: (effect: O) =>
        JSON.stringify({ user: '', ...where, ...naming(scope, () => ''), ...effect }).length + SEPARATOR,
    };
    return rectangles(uncovered, cost);
  }

  written<O extends object>(
    some: readonly Rectangle<O>[],
    scope: SiblingKind,
    where: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    return some.flatMap(({ effect, people, names }) => {
      const user = people && { user: anyOf(this.intent.principals.namesOf(people)) };
      const patterns = scope === 'table' ? tablePatterns(names) : scope === 'everything' ? [''] : [anyOf(names)];
      return patterns.map((pattern) => ({
        names,
        rule: { ...user, ...where, ...naming(scope, () => pattern), ...effect },
      }));
    });
  }
}

/** The pattern of a scope; a rule about everything has none. */
export function naming(scope: SiblingKind, pattern: () => string): SiblingRule {
  return scope === 'everything' ? {} : { [scope]: pattern() };
}

/** A comma and the end of the line. */
const SEPARATOR = 2;
