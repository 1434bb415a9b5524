import fc from 'fast-check';
import {
  type RulesDocument,
  TABLE_PRIVILEGES,
  type TableRule,
} from '../../../src/trino-rules/document/rules-document.js';

/** One compiler fault: a rule lost, doubled, moved, widened, or given to another user. */
export function anyChange(): fc.Arbitrary<(rules: RulesDocument) => RulesDocument> {
  const where = fc.nat(1000);
  return fc.oneof(
    fc
      .tuple(anySection(), where)
      .map(([section, at]) => changed(section, (list) => list.toSpliced(at % (list.length || 1), 1))),
    fc
      .tuple(anySection(), where, where)
      .map(([section, from, to]) => changed(section, (list) => moved(list, from, to))),
    fc
      .tuple(anySection(), fc.constantFrom('user', 'catalog', 'schema', 'table', 'property'), where)
      .map(([section, key, at]) => changed(section, (list) => replaced(list, at, (rule) => without(rule, key)))),
    fc
      .tuple(anySection(), fc.constantFrom('user', 'catalog', 'schema', 'table'), where, where)
      .map(([section, key, at, other]) =>
        changed(section, (list) =>
          replaced(list, at, (rule) => ({ ...rule, ...only(list[other % list.length], key) })),
        ),
      ),
    fc
      .tuple(where, fc.subarray([...TABLE_PRIVILEGES]))
      .map(([at, privileges]) => tables(at, (rule) => ({ ...rule, privileges }))),
    where.map((at) => tables(at, ({ privileges, ...rule }) => ({ ...rule, privileges: privileges.slice(1) }))),
    fc.tuple(where, fc.constantFrom('filter', 'columns')).map(([at, key]) => tables(at, (rule) => without(rule, key))),
    where.map((at) => tables(at, ({ columns = [], ...rule }) => ({ ...rule, columns: columns.slice(1) }))),
    fc
      .tuple(where, fc.constantFrom('all' as const, 'read-only' as const, 'none' as const))
      .map(([at, allow]) => (rules: RulesDocument) => ({
        ...rules,
        catalogs: replaced(rules.catalogs, at, (rule) => ({ ...rule, allow })),
      })),
  );
}

type Section = keyof RulesDocument;

function anySection(): fc.Arbitrary<Section> {
  const rest = fc.constantFrom<Section>(
    'queries',
    'impersonation',
    'system_information',
    'system_session_properties',
    'catalog_session_properties',
  );
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom<Section>('catalogs', 'schemas', 'tables', 'tables') }, rest);
}

function changed<Name extends Section>(
  section: Name,
  change: (list: RulesDocument[Name][number][]) => RulesDocument[Name][number][],
) {
  return (rules: RulesDocument): RulesDocument => ({ ...rules, [section]: change(rules[section]) });
}

function tables(at: number, change: (rule: TableRule) => TableRule): (rules: RulesDocument) => RulesDocument {
  return (rules) => ({ ...rules, tables: replaced(rules.tables, at, change) });
}

function replaced<Rule>(list: readonly Rule[], at: number, change: (rule: Rule) => Rule): Rule[] {
  return list.map((rule, index) => (index === at % list.length ? change(rule) : rule));
}

function moved<Rule>(list: readonly Rule[], from: number, to: number): Rule[] {
  const rule = list[from % (list.length || 1)];
  return rule === undefined ? [] : list.toSpliced(from % list.length, 1).toSpliced(to % list.length, 0, rule);
}

function without<Rule extends object>(rule: Rule, key: string): Rule {
  const left = { ...rule };
  Reflect.deleteProperty(left, key);
  return left;
}

function only(rule: object | undefined, key: string): Record<string, string> {
  const value: unknown = rule && Reflect.get(rule, key);
  return typeof value === 'string' ? { [key]: value } : {};
}
