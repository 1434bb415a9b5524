import { indexPrincipals } from '../../../src/trino-rules/compile/principal-index.js';
import { intentAt } from '../../../src/trino-rules/model/intent.js';
import type { Subject } from '../../../src/trino-rules/model/principal.js';
import type { Node } from '../../../src/trino-rules/model/node.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import type { Words, PreferredQuestion } from '../rules/engine-question.js';

/** Names of the snapshot, unused names, and names that differ by a character or by case. */
export function wordsOf(snapshot: Snapshot): Words {
  const resources = [...snapshot.grants, ...snapshot.policies].map(({ resource }) => resource);
  const named = (level: 'catalog' | 'schema' | 'table') => resources.flatMap((resource) => resource[level] ?? []);
  const { subjects } = indexPrincipals(snapshot);
  const names = subjects.map(({ name }) => name);
  const { writableCatalogs, readableCatalogs, sessionProperties } = snapshot.settings;
  return {
    users: distinct([
      ...names,
      ...names.map((name) => name.toUpperCase()),
      ...names.map((name) => `${name}1`),
      'stranger',
    ]),
    preferred: preferredQuestions(snapshot, resources, subjects),
    catalogs: distinct([
      ...named('catalog'),
      ...writableCatalogs,
      ...readableCatalogs,
      'system',
      'grantline',
      'unknown',
    ]),
    schemas: distinct([...named('schema'), 'jdbc', 'metadata', 'runtime', 'information_schema', 'unknown']),
    tables: distinct([...named('table'), 'unknown', 'kill_query']),
    columns: distinct([
      ...snapshot.policies.flatMap((p) => ('column' in p.resource ? [p.resource.column] : [])),
      'unknown',
    ]),
    properties: distinct([...sessionProperties, 'query_max_run_time', 'grantline_rules_0', 'unknown']),
  };
}

/** Principals with access, weighted towards filters and masks, and users that the service account may impersonate. */
function preferredQuestions(
  snapshot: Snapshot,
  resources: readonly Node[],
  list: readonly Subject[],
): PreferredQuestion[] {
  const nodes = [...resources, { catalog: 'lake' }, { catalog: 'tpch' }].map(
    ({ catalog = 'unknown', schema = 'unknown', table = 'unknown' }: Node) => ({ catalog, schema, table }),
  );
  const people = list.filter(({ kind }) => kind === 'person').map(({ name }) => name);
  const impersonations = people.map((otherUser) => ({
    user: snapshot.settings.ownAccount,
    node: { catalog: 'lake', schema: 'unknown', table: 'unknown' },
    column: 'unknown',
    otherUser,
  }));
  return [
    ...impersonations,
    ...list.flatMap((subject) =>
      nodes.flatMap((node) => {
        const principal =
          subject.kind === 'person'
            ? ({ type: 'user', id: subject.userId } as const)
            : ({ type: 'engine', name: subject.name } as const);
        const { privileges, masks, filters } = intentAt(snapshot, principal, node);
        const column = masks[0]?.column ?? 'unknown';
        const preferred = { user: subject.name, node, column, otherUser: 'stranger' };
        const times = privileges.length === 0 ? 0 : filters.length === 0 && masks.length === 0 ? 1 : 10;
        return Array.from({ length: times }, () => preferred);
      }),
    ),
  ];
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
