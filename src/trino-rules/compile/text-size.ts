import type { RuleEffect } from './access-state.js';
import { getOrInsert } from './get-or-insert.js';
import { anyOf } from './name-pattern.js';
import type { Scope } from './resource-tree.js';
import { naming, type SiblingRule } from './sibling-rules.js';

/** Table rules under one parent. */
export interface RulesUnderParent {
  /** The parent: `sales.eu`, or empty above catalogs. */
  where: string;
  /** Each different outcome of policies and privileges takes one at least. */
  rules: number;
}

/** The text would take more bytes than it may. */
export class RulesTooLarge extends Error {
  override readonly name = 'RulesTooLarge';

  /**
   * @param atLeast bytes, of the rules that are written and of those that must be
   * @param most at the parent where the limit was passed, so far
   */
  constructor(
    readonly atLeast: number,
    readonly most: RulesUnderParent,
  ) {
    super(`the rules take more than ${atLeast} bytes`);
  }
}

/** What the text will have at least, counted before the work of covering. */
export class TextSize {
  /** The parent with most rules. */
  largest: RulesUnderParent = { where: '', rules: 0 };
  private written = 0;
  private readonly owed: Record<Scope, number> = { everything: 0, catalog: 0, schema: 0, table: 0 };
  private readonly lengths = new Map<RuleEffect, number>();

  constructor(private readonly most: number) {}

  /** The outcomes under one parent. */
  parent(scope: Scope, where: SiblingRule, path: string): ParentSize {
    if (this.most === Infinity) return UNLIMITED;
    return new LeastSize(scope, where, {
      lengthOf: (effect) => this.lengthOf(effect),
      owe: (bytes, rules) => {
        this.owed[scope] += bytes;
        this.check(path, rules);
      },
    });
  }

  /** The rules of a parent are written. */
  settle(scope: Scope, rules: readonly object[], path: string): void {
    if (rules.length > this.largest.rules) this.largest = { where: path, rules: rules.length };
    if (this.most === Infinity) return;
    this.owed[scope] = 0;
    for (const rule of rules) this.written += JSON.stringify(rule).length;
    this.check(path, rules.length);
  }

  /** UTF-16 units: in UTF-8 it has at least as many bytes. */
  private lengthOf(effect: RuleEffect): number {
    return getOrInsert(this.lengths, effect, () => JSON.stringify(effect).length);
  }

  private check(where: string, rules: number): void {
    const { everything, catalog, schema, table } = this.owed;
    const atLeast = this.written + everything + catalog + schema + table;
    if (atLeast > this.most) throw new RulesTooLarge(atLeast, { where, rules });
  }
}

/** What the rules under one parent take at least. */
export interface ParentSize {
  /** Of a child, by position. @throws RulesTooLarge */
  meet(effect: RuleEffect, people: readonly number[], child: string): void;
  /** All children have been met. @throws RulesTooLarge */
  addNames(nameOf: (position: number) => string): void;
}

const UNLIMITED: ParentSize = { meet: () => undefined, addNames: () => undefined };

interface Outcome {
  /** Null: several people have it. */
  only: number | null;
  children: string[];
}

/** Each different outcome takes a rule of its own, whoever gets it and on whatever children. */
class LeastSize implements ParentSize {
  private readonly met = new Map<RuleEffect, Outcome>();
  // One character of a pattern at least for the people, of whom only a denial names none, and one for the children.
  private readonly rule: number;
  private readonly denial: number;

  constructor(
    private readonly scope: Scope,
    where: SiblingRule,
    private readonly text: { lengthOf(effect: RuleEffect): number; owe(bytes: number, rules: number): void },
  ) {
    const about = { ...where, ...naming(scope, () => '.') };
    this.rule = JSON.stringify({ user: '.', ...about }).length;
    this.denial = JSON.stringify(about).length;
  }

  meet(effect: RuleEffect, people: readonly number[], child: string): void {
    const only = people.length === 1 ? (people[0] ?? null) : null;
    const known = this.met.get(effect);
    if (known !== undefined) {
      if (known.only !== only) known.only = null;
      if (known.only !== null) known.children.push(child);
      return;
    }
    this.met.set(effect, { only, children: [child] });
    this.text.owe((effect.privileges.length > 0 ? this.rule : this.denial) + this.text.lengthOf(effect), this.met.size);
  }

  /** An outcome of one person is one rule with all its children: there is nothing to cover. */
  addNames(nameOf: (position: number) => string): void {
    for (const [{ privileges }, { only, children }] of this.met) {
      if (only === null || privileges.length === 0) continue;
      const named = this.scope === 'everything' ? [] : [anyOf(children)];
      const patterns = [anyOf([nameOf(only)]), ...named];
      this.text.owe(
        patterns.reduce((sum, pattern) => sum + JSON.stringify(pattern).length - '"."'.length, 0),
        this.met.size,
      );
    }
  }
}
