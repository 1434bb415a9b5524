import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import type { WorkBudget } from '../document/work-budget.js';
import { coverage, type Coverage } from '../document/rule-language.js';
import { patternOf, RULE_PATTERNS, ruleText, type RulesDocument } from '../document/rules-document.js';
import { displayName } from '../engine/access-fact.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { reachableRules } from './reachable-rules.js';

/** The work budget for an open pattern of a foreign file: nodes of an automaton, and characters to make it of. */
const BUDGET = { nodes: 10_000, characters: 20_000, steps: 20_000_000 };

/**
 * Rules that never decide, because earlier ones match whatever they match. In our own output that is an error; in anybody
 * else's file it is worth knowing. Names are enumerated; open patterns are judged as languages, within a budget.
 * @param people every user that the rules spell out
 * @param severity of a rule that is dead for certain
 */
export function unreachableRules(
  rules: RulesDocument,
  people: UserUniverse,
  patterns: PatternCache,
  severity: 'error' | 'warning',
): Finding[] {
  const width = (people.count + 31) >>> 5;
  const caches = new FieldCaches(patterns);
  return RULE_PATTERNS.flatMap(([section, ...keys]): Finding[] => {
    const fields = rules[section].map((rule) => keys.map((key) => patternOf(rule, key)));
    const reaches = fields.map(([user, ...objects]) => ({
      people: people.matching(user),
      path: (objects.length === 0 ? [undefined] : objects).map((pattern) => patterns.language(pattern)),
    }));
    const lives = reachableRules(reaches, width, patterns);
    // Where no pattern is open, enumerating has found a user for every rule that decides.
    const isOpen = fields.map(([user, ...objects], index) => {
      const path = reaches[index]?.path ?? [];
      return !people.isComplete(user) || objects.some((_, level) => path[level]?.kind === 'open');
    });
    return fields.flatMap((_, index): Finding[] => {
      if (lives[index] === true) return [];
      const isCertain = !isOpen.some((open, other) => open && other <= index);
      const verdict = isCertain ? 'covered' : judged(fields, index, caches);
      if (verdict === 'uncovered') return [];
      const at = `${section}[${index}]`;
      const where = { rule: at, witness: ruleText(rules[section][index] ?? {}) };
      if (verdict === 'undecided') {
        const message = `whether ${at} ever decides could not be found out: its pattern, or one before it, is too intricate`;
        return [{ code: 'dead-rule-undecided', severity: 'info', message, ...where }];
      }
      const message = `${at} never decides: earlier rules match whatever it matches, ${example(section, fields, index, caches)}`;
      return [{ code: 'dead-rule', severity, message, ...where }];
    });
  });
}

/** Users have names of their own, which may be spelled like the fresh name of an object. */
class FieldCaches {
  readonly budget: WorkBudget;
  private readonly users: PatternCache;

  constructor(private readonly objects: PatternCache) {
    this.budget = objects.budget;
    this.users = new PatternCache(objects.budget);
  }

  of(field: number): PatternCache {
    return field === 0 ? this.users : this.objects;
  }
}

type Fields = readonly (string | undefined)[];

/** Whether earlier rules cover a rule, judged as languages: with open patterns there may be a user that was not enumerated. */
function judged(fields: readonly Fields[], index: number, patterns: FieldCaches): Coverage {
  const rule = fields[index] ?? [];
  const asked = [rule, ...fields.slice(0, index).filter((each) => mayMeet(each, rule, patterns))];
  const length = asked.flat().reduce((sum, pattern) => sum + (pattern?.length ?? 0), 0);
  if (length > BUDGET.characters) return 'undecided';
  patterns.budget.spend(BUDGET.steps);
  const [own = [], ...others] = asked.map((each) =>
    each.map((pattern, field) => (pattern === undefined ? null : patterns.of(field).pattern(pattern))),
  );
  return coverage(own, others, BUDGET.nodes);
}

/** False only if two rules can match nothing alike. */
function mayMeet(a: Fields, b: Fields, caches: FieldCaches): boolean {
  return a.every((pattern, i) => {
    const other = b[i];
    const patterns = caches.of(i);
    const [mine, theirs] = [patterns.language(pattern), patterns.language(other)];
    const [listed, matching] = mine.kind === 'names' ? [mine, other] : [theirs, pattern];
    if (listed.kind !== 'names') return true;
    patterns.budget.spend(listed.names.size * STEPS_PER_NAME);
    return [...listed.names].some((name) => patterns.matches(matching, name));
  });
}

/** `for example tables[3] for ana and sales.eu.orders` */
function example(section: string, fields: readonly Fields[], index: number, patterns: FieldCaches): string {
  const names = (fields[index] ?? []).map((pattern, field) => patterns.of(field).someName(pattern));
  patterns.budget.spend(fields.length * names.length * STEPS_PER_NAME);
  const decider = fields.findIndex((each) =>
    each.every((pattern, i) => patterns.of(i).matches(pattern, names[i] ?? '')),
  );
  const [user = '', ...objects] = names.map((name) => displayName(name, 'anybody'));
  return `for example ${section}[${decider}] for ${[user, objects.join('.')].filter((text) => text !== '').join(' and ')}`;
}

/** To look a name up. */
const STEPS_PER_NAME = 20;
