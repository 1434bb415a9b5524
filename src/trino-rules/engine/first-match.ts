import { matches } from '../document/pattern-meaning.js';
import { readPattern, type Pattern } from '../document/pattern.js';

/** The rule that decides, by its place in its section; null where no rule of the section matches. */
export type Deciding = number | null;

/** The patterns of a rule, under the keys that the names have which they are matched with; an absent one fits any name. */
export type Patterned<Key extends string> = Partial<Record<Key, string>>;

/** The engine's way through a section: from the top, until every pattern of a rule fits. Patterns are read once. */
export class FirstMatch {
  private readonly read = new Map<string, Pattern>();

  index<Key extends string>(rules: readonly Patterned<NoInfer<Key>>[], names: Readonly<Record<Key, string>>): Deciding {
    const index = rules.findIndex((rule) => this.fits(rule, names));
    return index < 0 ? null : index;
  }

  rule<Key extends string, Rule extends Patterned<Key>>(
    rules: readonly Rule[],
    names: Readonly<Record<Key, string>>,
  ): Rule | undefined {
    return rules.find((rule) => this.fits(rule, names));
  }

  fits<Key extends string>(rule: Patterned<NoInfer<Key>>, names: Readonly<Record<Key, string>>): boolean {
    for (const key in names) {
      const pattern = rule[key];
      if (pattern !== undefined && !matches(this.pattern(pattern), names[key])) return false;
    }
    return true;
  }

  private pattern(text: string): Pattern {
    const known = this.read.get(text);
    if (known) return known;
    const reading = readPattern(text);
    if (reading.kind === 'refused') throw new RangeError(`a pattern that readRules would refuse: ${reading.reason}`);
    this.read.set(text, reading.pattern);
    return reading.pattern;
  }
}
