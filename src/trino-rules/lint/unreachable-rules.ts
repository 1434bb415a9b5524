import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import { patternOf, RULE_PATTERNS, ruleText, type RulesDocument } from '../document/rules-document.js';
import { displayName } from '../engine/access-fact.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { reachableRules } from './reachable-rules.js';

/**
 * Rules that never decide, because earlier ones match whatever they match. For documents whose patterns are complete (see
 * `openPatterns`): then enumerating the names finds a user for every rule that decides. Other files: see `deadRules`.
 * @param people every user that the rules spell out
 */
export function unreachableRules(rules: RulesDocument, people: UserUniverse, patterns: PatternCache): Finding[] {
  const width = (people.count + 31) >>> 5;
  const users = new PatternCache(patterns.budget); // may be spelled like the fresh name of an object
  return RULE_PATTERNS.flatMap(([section, ...keys]) => {
    const fields = rules[section].map((rule) => keys.map((key) => patternOf(rule, key)));
    const reaches = fields.map(([user, ...objects]) => ({
      people: people.matching(user),
      path: (objects.length === 0 ? [undefined] : objects).map((pattern) => patterns.language(pattern)),
    }));
    const lives = reachableRules(reaches, width, patterns);
    return fields.flatMap((_, index): Finding[] => {
      if (lives[index] === true) return [];
      const at = `${section}[${index}]`;
      const message = `${at} never decides: earlier rules match whatever it matches, ${example(section, fields, index)}`;
      return [
        { code: 'dead-rule', severity: 'error', message, rule: at, witness: ruleText(rules[section][index] ?? {}) },
      ];
    });
  });

  /** `for example tables[3] for ana and sales.eu.orders` */
  function example(section: string, fields: readonly (readonly (string | undefined)[])[], index: number): string {
    const cacheOf = (field: number): PatternCache => (field === 0 ? users : patterns);
    const names = (fields[index] ?? []).map((pattern, field) => cacheOf(field).someName(pattern));
    patterns.budget.spend(fields.length * names.length * STEPS_PER_NAME);
    const decider = fields.findIndex((each) => each.every((pattern, i) => cacheOf(i).matches(pattern, names[i] ?? '')));
    const [user = '', ...objects] = names.map((name) => displayName(name, 'anybody'));
    return `for example ${section}[${decider}] for ${[user, objects.join('.')].filter((text) => text !== '').join(' and ')}`;
  }
}

/** To look a name up. */
const STEPS_PER_NAME = 20;
