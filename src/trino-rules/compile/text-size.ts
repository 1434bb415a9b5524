import type { RuleEffect } from './access-state.js';
import type { Level } from './resource-tree.js';
import type { SiblingRule } from './sibling-rules.js';

/** The text would take more bytes than it may. */
export class RulesTooLarge extends Error {
  override readonly name = 'RulesTooLarge';

  /**
   * @param atLeast bytes, of the rules that are written and of those that must be
   * @param where the parent at which the limit was passed: `sales.eu`, or empty above catalogs
   * @param combinations different outcomes of policies and privileges that were met there, each of which takes a rule
   */
  constructor(
    readonly atLeast: number,
    readonly where: string,
    readonly combinations: number,
  ) {
    super(`the rules take more than ${atLeast} bytes`);
  }
}

/**
 * What the text will have at least, counted before the work of covering: under one parent each different outcome takes a rule of its
 * own, whoever gets it and on whatever children.
 */
export class TextSize {
  private written = 0;
  private readonly owed: Record<Level, number> = { catalog: 0, schema: 0, table: 0 };
  private readonly lengths = new Map<RuleEffect, number>();

  constructor(private readonly most: number) {}

  /** The outcomes under one parent. */
  parent(level: Level, where: SiblingRule, path: string): (effect: RuleEffect) => void {
    const met = new Set<RuleEffect>();
    // One character of a pattern at least for the people, of whom only a denial names none, and one for the children.
    const each = JSON.stringify({ user: '.', ...where, [level]: '.' }).length;
    const denial = JSON.stringify({ ...where, [level]: '.' }).length;
    return (effect) => {
      if (this.most === Infinity || met.has(effect)) return;
      met.add(effect);
      this.owed[level] += (effect.privileges.length > 0 ? each : denial) + this.lengthOf(effect);
      this.check(path, met.size);
    };
  }

  /** The rules of a parent are written. */
  settle(level: Level, rules: readonly object[], path: string): void {
    if (this.most === Infinity) return;
    this.owed[level] = 0;
    for (const rule of rules) this.written += JSON.stringify(rule).length;
    this.check(path, rules.length);
  }

  /** UTF-16 units: in UTF-8 it has at least as many bytes. */
  private lengthOf(effect: RuleEffect): number {
    const known = this.lengths.get(effect) ?? JSON.stringify(effect).length;
    this.lengths.set(effect, known);
    return known;
  }

  private check(path: string, combinations: number): void {
    const { catalog, schema, table } = this.owed;
    const atLeast = this.written + catalog + schema + table;
    if (atLeast > this.most) throw new RulesTooLarge(atLeast, path, combinations);
  }
}
