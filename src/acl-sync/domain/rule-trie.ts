/** What one level of a rule's path means: any name, or exactly these. */
export type PathStep = ReadonlySet<string> | 'any';

/** Rules by the names of the objects they speak of, level by level; at each level some rules speak of any name. */
export class RuleTrie {
  private any: RuleTrie | null = null;
  private readonly named = new Map<string, RuleTrie>();
  private readonly rules: number[] = [];

  /** Rules must be added in their order. */
  add(rule: number, path: readonly PathStep[], level = 0): void {
    const step = path[level];
    if (step === undefined) this.rules.push(rule);
    else if (step === 'any') (this.any ??= new RuleTrie()).add(rule, path, level + 1);
    else for (const name of step) this.child(name).add(rule, path, level + 1);
  }

  /** The rules that speak of this very path, in their order. */
  at(path: readonly string[]): number[] {
    return this.below(path)
      .flatMap(({ rules }) => rules)
      .sort((a, b) => a - b);
  }

  /** The names that rules spell out one level below a path. */
  names(path: readonly string[]): Set<string> {
    return new Set(this.below(path).flatMap(({ named }) => [...named.keys()]));
  }

  private below(path: readonly string[]): RuleTrie[] {
    let level: RuleTrie[] = [this];
    for (const name of path) {
      level = level.flatMap(({ any, named }) => {
        const exact = named.get(name);
        return [...(any ? [any] : []), ...(exact ? [exact] : [])];
      });
    }
    return level;
  }

  private child(name: string): RuleTrie {
    const known = this.named.get(name);
    if (known) return known;
    const made = new RuleTrie();
    this.named.set(name, made);
    return made;
  }
}
