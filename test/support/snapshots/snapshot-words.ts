import { indexPrincipals } from '../../../src/trino-rules/compile/principal-index.js';
import { targetsByImpersonator } from '../../../src/trino-rules/model/named-others.js';
import { intentAt } from '../../../src/trino-rules/model/intent.js';
import type { Subject } from '../../../src/trino-rules/model/principal.js';
import { KILL_QUERY, type Level, type Node } from '../../../src/trino-rules/model/node.js';
import { Principals } from '../../../src/trino-rules/model/principals.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import type { Words, PreferredQuestion } from '../rules/engine-question.js';

/** Names of the snapshot, unused names, and names that differ by a character or by case. */
export function wordsOf(snapshot: Snapshot): Words {
  const resources = [...snapshot.grants, ...snapshot.policies].map(({ resource }) => resource);
  const named = (level: Level | 'routine') => resources.flatMap((resource) => resource[level] ?? []);
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
    tables: distinct([
      ...named('table'),
      ...named('table').map((table) => `${table}$files`),
      ...named('routine'),
      ...['unknown', 'unknown$files', '$files', KILL_QUERY.routine],
    ]),
    columns: distinct([
      ...snapshot.policies.flatMap((p) => ('column' in p.resource ? [p.resource.column] : [])),
      ...['unknown', '$path', '_message'],
    ]),
    properties: distinct([...sessionProperties, 'query_max_run_time', 'grantline_rules_0', 'unknown']),
  };
}

/** Principals with access, weighted towards filters and masks, and whom may be acted as. A routine is asked about as a table is. */
function preferredQuestions(
  snapshot: Snapshot,
  resources: readonly Node[],
  list: readonly Subject[],
): PreferredQuestion[] {
  const principals = new Principals(snapshot);
  const nodes = [...resources, { catalog: 'lake' }, { catalog: 'tpch' }].map(
    ({ catalog = 'unknown', schema = 'unknown', table, routine = 'unknown', engine }: Node) =>
      engine === true ? KILLING : { catalog, schema, table: table ?? routine },
  );
  const people = list.filter(({ kind }) => kind === 'person').map(({ name }) => name);
  const acting = [...targetsByImpersonator(snapshot, principals)].flatMap(([user, names]) =>
    [...names].map((otherUser) => ({ user, otherUser })),
  );
  const byOwnAccount = people.map((otherUser) => ({ user: snapshot.settings.ownAccount, otherUser }));
  const impersonations = [...byOwnAccount, ...acting].map((pair) => ({
    ...pair,
    node: { catalog: 'lake', schema: 'unknown', table: 'unknown' },
    column: 'unknown',
  }));
  return [
    ...impersonations,
    ...list.flatMap((subject) =>
      nodes.flatMap((node) => {
        const principal =
          subject.kind === 'person'
            ? ({ type: 'user', id: subject.userId } as const)
            : ({ type: 'engine', name: subject.name } as const);
        const { catalog, schema, table: routine } = node;
        const { privileges, masks, filters } = intentAt(snapshot, principal, node, principals);
        const beside = [{ catalog, schema, routine }, ...(node === KILLING ? [{ engine: true as const }] : [])];
        const rights = beside.flatMap((each) => intentAt(snapshot, principal, each, principals).privileges);
        const column = masks[0]?.column ?? 'unknown';
        const preferred = { user: subject.name, node, column, otherUser: 'stranger' };
        const times = privileges.length + rights.length === 0 ? 0 : filters.length === 0 && masks.length === 0 ? 1 : 10;
        return Array.from({ length: times }, () => preferred);
      }),
    ),
  ];
}

/** Where those are asked who have rights over the engine. */
const KILLING = { catalog: KILL_QUERY.catalog, schema: KILL_QUERY.schema, table: KILL_QUERY.routine };

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
