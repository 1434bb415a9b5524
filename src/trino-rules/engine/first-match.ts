import { PatternCache } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';

/** The rule that decides, by its place in its section; null where no rule of the section matches. */
export type RuleIndex = number | null;

/** The patterns of a rule, under the keys that the names have which they are matched with; an absent one fits any name. */
export type Patterned<Key extends string> = Partial<Record<Key, string>>;

/** The engine's way through a section: from the top, until every pattern of a rule fits. Patterns are read once. */
export class FirstMatch {
  constructor(private readonly patterns = new PatternCache()) {}

  index<Key extends string>(
    rules: readonly Patterned<NoInfer<Key>>[],
    names: Readonly<Record<Key, string>>,
  ): RuleIndex {
    const index = rules.findIndex((rule) => this.matches(rule, names));
    return index < 0 ? null : index;
  }

  rule<Key extends string, Rule extends Patterned<Key>>(
    rules: readonly Rule[],
    names: Readonly<Record<Key, string>>,
  ): Rule | undefined {
    return rules.find((rule) => this.matches(rule, names));
  }

  matches<Key extends string>(rule: Patterned<NoInfer<Key>>, names: Readonly<Record<Key, string>>): boolean {
    for (const key in names) {
      const pattern = rule[key];
      if (pattern !== undefined && !matches(this.patterns.pattern(pattern), names[key], this.patterns.budget))
        return false;
    }
    return true;
  }
}
