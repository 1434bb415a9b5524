import fc from 'fast-check';
import { type RulesDocument, type TableRule } from '../../../src/trino-rules/document/rules-document.js';
import { readRules } from '../../../src/trino-rules/document/rules-reader.js';
import { Chance } from '../snapshots/chance.js';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * The text of a rules document with one slip somewhere, such as a compiler may make or a hand that edits it: a rule that is lost,
 * moved or repeated; a field that is lost, or has what another rule has there; a pattern that is wider or narrower.
 */
export function withFault(text: string, chance: Chance): string {
  const document = JSON.parse(text) as Json;
  const slips = [...slipsIn(document, valuesByKey(document))];
  const slip = slips[chance.below(slips.length)];
  if (slip === undefined) throw new Error('there is nothing in the document');
  slip(chance);
  return JSON.stringify(document);
}

/** A slip, of those after which the strict reader still takes the document. */
export function anyFault(): fc.Arbitrary<(rules: RulesDocument) => RulesDocument> {
  return fc.nat().map((seed) => (rules) => {
    const chance = new Chance(seed);
    const text = JSON.stringify(rules);
    for (;;) {
      const reading = readRules(withFault(text, chance));
      if (reading.kind === 'read') return reading.document;
    }
  });
}

/** A document with each slip in one of its table rules that may open, or close, what leads around a restriction. */
export function doorFaults(rules: RulesDocument): RulesDocument[] {
  const { tables } = rules;
  const put = (at: number, ...others: TableRule[]): RulesDocument => ({
    ...rules,
    tables: tables.toSpliced(at, 1, ...others),
  });
  const moved = (rule: TableRule, from: number, to: number): RulesDocument => ({
    ...rules,
    tables: tables.toSpliced(from, 1).toSpliced(to, 0, rule),
  });
  return tables.flatMap((rule, at) => {
    const { user, table, privileges, columns, filter } = rule;
    const others = (...names: TableRule['privileges']): TableRule[] =>
      names.flatMap((name) => (privileges.includes(name) ? [] : [{ ...rule, privileges: [...privileges, name] }]));
    const isClosing = privileges.length === 0 && table?.includes('$') === true;
    return [
      ...tablePatterns(table).map((other) => put(at, { ...rule, table: other })),
      ...(isClosing
        ? [put(at), moved(rule, at, tables.length), moved(rule, at, 0), put(at, without(rule, 'user'))]
        : []),
      ...(user === undefined ? [] : [`${user}|stranger`, ...lessOneName(user)]).map((name) =>
        put(at, { ...rule, user: name }),
      ),
      ...(filter === 'true' ? [put(at, without(rule, 'filter'))] : []),
      ...(filter === undefined && privileges.length > 0 ? [put(at, { ...rule, filter: 'true' })] : []),
      ...(columns ?? []).map(({ name }) =>
        put(at, { ...rule, columns: columns?.filter((column) => column.name !== name) ?? [] }),
      ),
      ...(privileges.length > 0 ? others('INSERT', 'DELETE').map((other) => put(at, other)) : []),
    ];
  });
}

/** Of a plain list. */
function lessOneName(user: string): string[] {
  return /^[\w-]+\|[\w|-]+$/.test(user) ? [user.slice(user.indexOf('|') + 1)] : [];
}

function without(rule: TableRule, key: 'user' | 'filter'): TableRule {
  const { [key]: _, ...rest } = rule;
  return rest;
}

/** Patterns of fewer or of more companions. */
function tablePatterns(table: string | undefined): string[] {
  const suffix = ['([$].*)?', '[$].*'].find((end) => table?.endsWith(end) === true);
  if (table === undefined || suffix === undefined) return table === undefined ? ['.*[$].*'] : [`(${table})([$].*)?`];
  const bases = table.slice(0, -suffix.length);
  return bases === '.*'
    ? ['a[$].*']
    : [bases, `(${bases})[$].*`, `(${bases})([$].*)?`, `(${bases})[$]files`, '.*[$].*'];
}

type Slip = (chance: Chance) => void;

function* slipsIn(value: Json, others: ReadonlyMap<string, readonly Json[]>): Generator<Slip> {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      yield () => void value.splice(at, 1);
      yield (chance) => void value.splice(chance.below(value.length), 0, ...value.splice(at, 1));
      yield (chance) => void value.splice(chance.below(value.length + 1), 0, structuredClone(item));
      yield* slipsIn(item, others);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, field] of Object.entries(value)) {
      const there = others.get(key) ?? [];
      yield () => void Reflect.deleteProperty(value, key);
      yield (chance) => void (value[key] = structuredClone(there[chance.below(there.length)] ?? null));
      yield* variantsOf(field).map((variant) => () => void (value[key] = variant));
      yield* slipsIn(field, others);
    }
  }
}

function variantsOf(value: Json): Json[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value !== 'string') return [];
  const alternatives = value.split('|');
  return ['.*', `${value}|unknown`, `${value}x`, alternatives.slice(1).join('|'), alternatives.slice(0, -1).join('|')];
}

/** What stands under each name of a field, anywhere in the document. */
function valuesByKey(document: Json): Map<string, Json[]> {
  const found = new Map<string, Json[]>();
  const look = (value: Json): void => {
    if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, field] of Object.entries(value)) {
        found.set(key, [...(found.get(key) ?? []), field]);
        look(field);
      }
    }
  };
  look(document);
  return found;
}
