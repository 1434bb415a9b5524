import { Bitset } from '../../src/trino-rules/compile/bitset.js';
import { intentSets, type IntentSets, type NamedNode } from '../../src/trino-rules/compile/intent-sets.js';
import { literalPattern } from '../../src/trino-rules/compile/name-pattern.js';
import { serviceAccountRules } from '../../src/trino-rules/compile/compile.js';
import { siblingPatternField } from '../../src/trino-rules/compile/sibling-rules.js';
import { siblingGroups } from '../../src/trino-rules/compile/table-rules.js';
import type { RulesDocument, SchemaRule, TableRule } from '../../src/trino-rules/document/rules-document.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/** What ours is measured against: correct rules too, one for each node and outcome, every name in full. */
export function namesInFull(snapshot: Snapshot): RulesDocument {
  const intent = intentSets(snapshot);
  const accounts = serviceAccountRules(snapshot.settings);
  const insiders = inFull(intent.usersWithAccess, intent);
  return {
    catalogs: [...accounts.catalogs, ...catalogRules(intent), { allow: 'none' }],
    schemas: [...accounts.schemas, ...schemaRules(intent)],
    tables: [...accounts.tables, ...tableRules(intent)],
    queries: [{ user: insiders, allow: ['execute'] }],
    impersonation: [
      {
        original_user: literalPattern(snapshot.settings.ownAccount),
        new_user: inFull(intent.usersWithAccess.and(intent.principals.activePeople), intent),
        allow: true,
      },
    ],
    functions: [],
    procedures: [],
    system_information: [],
    system_session_properties: [
      { property: 'grantline_rules_.*', allow: false },
      { user: snapshot.settings.serviceAccounts.map(literalPattern).join('|'), allow: true },
    ],
    catalog_session_properties: accounts.catalog_session_properties,
  };
}

/** The naive compilation: a table rule for each person on each node where a grant or policy changes what the person has. */
export function personByPerson(snapshot: Snapshot): RulesDocument {
  const document = namesInFull(snapshot);
  return { ...document, tables: document.tables.flatMap(forEachPerson) };
}

/** More rules than this are only counted. */
export const MANY_RULES = 1_000_000;

/** How much the naive compilation would be, without keeping it. */
export function sizeOf(snapshot: Snapshot): { rules: number; bytes: number } {
  let rules = 0;
  let bytes = 0;
  for (const rule of namesInFull(snapshot).tables) {
    for (const each of forEachPerson(rule)) {
      rules++;
      bytes += Buffer.byteLength(JSON.stringify(each)) + SEPARATOR;
    }
  }
  return { rules, bytes };
}

/** A comma and the end of the line. */
const SEPARATOR = 2;

function forEachPerson({ user = '', ...rule }: TableRule): TableRule[] {
  return user.split('|').map((name) => ({ user: name, ...rule }));
}

function* tableRules(intent: IntentSets): Generator<TableRule> {
  for (const { siblings, scope, parentPatterns } of siblingGroups(intent)) {
    for (const { name, effectUsers } of siblings) {
      for (const { requiredUsers: must, effect } of effectUsers) {
        const at = { ...parentPatterns, ...siblingPatternField(scope, () => literalPattern(name)) };
        if (!must.isEmpty()) yield { user: inFull(must, intent), ...at, ...effect };
      }
    }
  }
}

function catalogRules(intent: IntentSets): RulesDocument['catalogs'] {
  return [...intent.root.children()].flatMap(({ name }) => {
    const modes = intent.usersByModeIn(name);
    const all = modes.all.minus(intent.principals.serviceAccounts);
    const readOnly = modes.readOnly.minus(intent.principals.serviceAccounts);
    const catalog = literalPattern(name);
    return [
      ...(all.isEmpty() ? [] : [{ user: inFull(all, intent), catalog, allow: 'all' as const }]),
      ...(readOnly.isEmpty() ? [] : [{ user: inFull(readOnly, intent), catalog, allow: 'read-only' as const }]),
    ];
  });
}

function schemaRules(intent: IntentSets): SchemaRule[] {
  const owners = ({ access: { states } }: NamedNode): Bitset => {
    const those = states.flatMap((state, position) => (state.has('owner') ? [position] : []));
    return Bitset.of(states.length, those).minus(intent.principals.serviceAccounts);
  };
  return [...intent.root.children()].flatMap((catalog) => {
    const rule = ({ resource }: NamedNode, people: Bitset, owner: boolean): SchemaRule[] => {
      const schema = resource.schema === undefined ? {} : { schema: literalPattern(resource.schema) };
      const where = { catalog: literalPattern(catalog.name), ...schema };
      return people.isEmpty() ? [] : [{ user: inFull(people, intent), ...where, owner }];
    };
    const narrow = [...catalog.children()].flatMap((schema) => [
      ...rule(schema, owners(schema).minus(owners(catalog)), true),
      ...rule(schema, owners(catalog).minus(owners(schema)), false),
    ]);
    return [...narrow, ...rule(catalog, owners(catalog), true)];
  });
}

function inFull(people: Bitset, { principals }: IntentSets): string {
  return people
    .members()
    .map((position) => literalPattern(principals.subjects[position]?.name ?? ''))
    .join('|');
}
