import { shown } from './deed.js';
import type { Finding } from '../rules/finding.js';
import { livingRules } from './living-rules.js';
import { FRESH, readMeaning, type NameSpace } from '../rules/name-space.js';
import { matches } from '../rules/pattern-meaning.js';
import { readPattern, type Pattern } from '../rules/pattern.js';
import type { People } from './people.js';
import { coverage, type Coverage } from '../rules/rule-language.js';
import { isOpen, patternOf, RULE_PATTERNS } from '../rules/rule-patterns.js';
import { ruleText } from '../rules/rule-text.js';
import type { RulesDocument } from '../rules/rules-document.js';

/** What an open pattern of somebody else's file may cost: nodes of an automaton, and characters to make it of. */
const BUDGET = { nodes: 10_000, characters: 20_000 };

/**
 * Rules that never decide, because earlier ones match whatever they match. In our own output that is an error; in anybody
 * else's file it is worth knowing. Names are enumerated; open patterns are judged as languages, within a budget.
 * @param people everybody whom the rules spell out
 * @param severity of a rule that is dead for certain
 */
export function deadRules(
  rules: RulesDocument,
  people: People,
  space: NameSpace,
  severity: 'error' | 'warning',
): Finding[] {
  const width = (people.count + 31) >>> 5;
  return RULE_PATTERNS.flatMap(([section, ...keys]): Finding[] => {
    const fields = rules[section].map((rule) => keys.map((key) => patternOf(rule, key)));
    const reaches = fields.map(([user, ...objects]) => ({
      people: people.meantBy(user),
      path: objects.length === 0 ? [space.meaning(undefined)] : objects.map((pattern) => space.meaning(pattern)),
    }));
    return livingRules(reaches, width).flatMap((lives, index): Finding[] => {
      if (lives) return [];
      const verdict = judged(fields, index);
      const at = `${section}[${index}]`;
      const told = { rule: at, witness: ruleText(rules[section][index] ?? {}) };
      if (verdict.kind === 'witness') return [];
      if (verdict.kind === 'undecided') {
        const message = `whether ${at} ever decides could not be found out: its pattern, or one before it, is too intricate`;
        return [{ code: 'dead-rule-undecided', severity: 'info', message, ...told }];
      }
      const message = `${at} never decides: earlier rules match whatever it matches, ${example(section, fields, index)}`;
      return [{ code: 'dead-rule', severity, message, ...told }];
    });
  });
}

type Fields = readonly (string | undefined)[];

/** Enumerating has found nobody for the rule; with open patterns there may be somebody nevertheless. */
function judged(fields: readonly Fields[], index: number): Coverage {
  const rule = fields[index] ?? [];
  const earlier = fields.slice(0, index);
  if (![rule, ...earlier].some((each) => each.some(isOpen))) return { kind: 'covered' };
  const asked = [rule, ...earlier.filter((each) => mayMeet(each, rule))];
  const length = asked.flat().reduce((sum, pattern) => sum + (pattern?.length ?? 0), 0);
  if (length > BUDGET.characters) return { kind: 'undecided' };
  const [own = [], ...others] = asked.map((each) =>
    each.map((pattern) => (pattern === undefined ? null : read(pattern))),
  );
  return coverage(own, others, BUDGET.nodes);
}

/** False only if two rules can match nothing alike. */
function mayMeet(a: Fields, b: Fields): boolean {
  return a.every((pattern, i) => {
    const other = b[i];
    if (pattern === undefined || other === undefined) return true;
    const [mine, theirs] = [readMeaning(pattern), readMeaning(other)];
    if (mine.kind === 'names') return [...mine.names].some((name) => matches(read(other), name));
    return theirs.kind !== 'names' || [...theirs.names].some((name) => matches(read(pattern), name));
  });
}

/** `for example tables[3] for ana and sales.eu.orders` */
function example(section: string, fields: readonly Fields[], index: number): string {
  const names = (fields[index] ?? []).map(someName);
  const decider = fields.findIndex((each) => each.every((pattern, i) => means(pattern, names[i] ?? '')));
  const [user = '', ...objects] = names.map((name) => shown(name, 'anybody'));
  return `for example ${section}[${decider}] for ${[user, objects.join('.')].filter((text) => text !== '').join(' and ')}`;
}

function someName(pattern: string | undefined): string {
  const meaning = readMeaning(pattern ?? '.*');
  if (meaning.kind === 'names') return [...meaning.names][0] ?? '';
  return meaning.kind === 'open' ? meaning.witness : FRESH;
}

function means(pattern: string | undefined, name: string): boolean {
  return pattern === undefined || matches(read(pattern), name);
}

function read(text: string): Pattern {
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new RangeError(`a pattern that readRules would refuse: ${reading.reason}`);
  return reading.pattern;
}
