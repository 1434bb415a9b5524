import type { RoutineKind } from './engine-terms.js';
import type { IntentSets } from './intent-sets.js';
import { anyOf, typicalLength } from './name-pattern.js';
import { areCompanions, tablePatterns } from './companion-rules.js';
import { type Rectangle, rectangles, type Sibling } from './rectangles.js';
import type { Level, Scope } from './resource-tree.js';

/** The patterns that rules about siblings share: users, and the levels above. */
export type SiblingRule = Partial<Record<'user' | Level | RoutineKind, string>>;

/** A rule about some siblings as a whole. */
export interface WideRule<Rule> {
  names: readonly string[];
  rule: Rule;
}

type SiblingKind = Scope | RoutineKind;

/** Writes few rules of a section for some siblings, in the engine's order. */
export class SiblingRules {
  private readonly person: number;

  constructor(private readonly intent: IntentSets) {
    // Counts only users with access, so that other users do not change the bytes.
    this.person = typicalLength(intent.principals.namesOf(intent.reachesSomething));
  }

  of<O extends object>(siblings: readonly Sibling<O>[], scope: SiblingKind, where: SiblingRule): (SiblingRule & O)[] {
    return this.about(siblings, scope, where).map(({ rule }) => rule);
  }

  /** The rules, each with the names of its siblings. */
  about<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    where: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    return this.written(this.rectanglesOf(siblings, scope, where), scope, where);
  }

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

export function naming(scope: SiblingKind, pattern: () => string): SiblingRule {
  return scope === 'everything' ? {} : { [scope]: pattern() };
}

/** A comma and the end of the line. */
const SEPARATOR = 2;
