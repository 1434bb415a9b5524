import type { RoutineKind } from './engine-terms.js';
import type { IntentSets } from './intent-sets.js';
import { patternOfNames, typicalLength } from './name-pattern.js';
import { areCompanions, tablePatterns } from './companion-rules.js';
import { type Rectangle, rectangles, type Sibling } from './rectangles.js';
import type { Level, Scope } from './resource-tree.js';

export type SiblingRule = Partial<Record<'user' | Level | RoutineKind, string>>;

/** A rule for several nodes under one parent, with the names that its pattern matches. */
export interface WideRule<Rule> {
  names: readonly string[];
  rule: Rule;
}

type SiblingKind = Scope | RoutineKind;

/** Writes rules for siblings (nodes under one parent). One rule is for several users or siblings if that saves bytes. */
export class SiblingRuleWriter {
  private readonly bytesPerPerson: number;

  constructor(private readonly intent: IntentSets) {
    // Users without access do not count, so that adding such a user does not change the text of the rules.
    this.bytesPerPerson = typicalLength(intent.principals.namesOf(intent.usersWithAccess));
  }

  rules<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    parentPatterns: SiblingRule,
  ): (SiblingRule & O)[] {
    return this.wideRules(siblings, scope, parentPatterns).map(({ rule }) => rule);
  }

  wideRules<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    parentPatterns: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    return this.rulesForRectangles(this.rectanglesOf(siblings, scope, parentPatterns), scope, parentPatterns);
  }

  rectanglesOf<O extends object>(
    siblings: readonly Sibling<O>[],
    scope: SiblingKind,
    parentPatterns: SiblingRule,
  ): Rectangle<O>[] {
    const openSiblings = siblings.filter(({ effectUsers }) =>
      effectUsers.some(({ requiredUsers }) => !requiredUsers.isEmpty()),
    );
    const byteCosts = {
      person: this.bytesPerPerson,
      sibling:
        scope === 'everything'
          ? 0
          : typicalLength(openSiblings.map(({ name }) => name).filter((name) => !areCompanions(name))),
      rule: (effect: O) =>
        JSON.stringify({ user: '', ...parentPatterns, ...siblingPatternField(scope, () => ''), ...effect }).length +
        SEPARATOR_BYTES,
    };
    return rectangles(openSiblings, byteCosts);
  }

  rulesForRectangles<O extends object>(
    rectangles: readonly Rectangle<O>[],
    scope: SiblingKind,
    parentPatterns: SiblingRule,
  ): WideRule<SiblingRule & O>[] {
    return rectangles.flatMap(({ effect, people, names }) => {
      const user = people && { user: patternOfNames(this.intent.principals.namesOf(people)) };
      const patterns =
        scope === 'table' ? tablePatterns(names) : scope === 'everything' ? [''] : [patternOfNames(names)];
      return patterns.map((pattern) => ({
        names,
        rule: { ...user, ...parentPatterns, ...siblingPatternField(scope, () => pattern), ...effect },
      }));
    });
  }
}

export function siblingPatternField(scope: SiblingKind, patternOf: () => string): SiblingRule {
  return scope === 'everything' ? {} : { [scope]: patternOf() };
}

/** Bytes between two rules: a comma and the end of the line. */
const SEPARATOR_BYTES = 2;
