import { literal } from '../../trino-rules/compile/name-pattern.js';
import { rulesHash, rulesText } from '../../trino-rules/compile/rules-text.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { MARKER } from '../../trino-rules/engine/rights.js';
import { canBeImpersonated } from '../../trino-rules/model/intent.js';
import { withNames } from '../../trino-rules/model/node.js';
import type { RevokedNode, RevokedAccess } from './revoked-access.js';

export interface ClosedRules {
  text: string;
  hash: string;
  document: RulesDocument;
}

/**
 * The published document with denials in front for every principal that loses access. The engine applies the first rule that
 * matches, so these remove access and never add any. Nothing is compiled.
 * @returns null: the check of the result failed
 */
export function closedRules(published: RulesDocument, losses: RevokedAccess): ClosedRules | null {
  const denied = withDenials(published, losses);
  const marker = denied.system_session_properties.filter(isMarker);
  const properties = denied.system_session_properties.filter((rule) => !isMarker(rule));
  const hash = rulesHash(rulesText({ ...denied, system_session_properties: properties }));
  const marked = marker.map((rule) => (rule.allow ? { ...rule, property: `${MARKER}${hash}` } : rule));
  const text = rulesText({ ...denied, system_session_properties: [...marked, ...properties] });
  const reading = readRules(text);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  if (compareAccess(published, document).gainedInAll > 0) return null;
  const evaluator = new Evaluator(document);
  const isClosed =
    losses.nodes.every((loss) => loss.names.every((name) => hasNothingAt(evaluator, name, loss))) &&
    losses.withoutAccess.every((name) => !evaluator.mayWithQueries(name, 'execute'));
  return isClosed ? { text, hash, document } : null;
}

function isMarker({ property }: { property?: string }): boolean {
  return property?.startsWith(MARKER) === true;
}

function withDenials(published: RulesDocument, { nodes, withoutAccess }: RevokedAccess): RulesDocument {
  const on = nodes.map(({ resource, names }) => ({ ...withNames(resource, literal), user: anyOf(names) }));
  const whole = withoutAccess.length === 0 ? [] : [{ user: anyOf(withoutAccess) }];
  const impersonated = withoutAccess.filter(canBeImpersonated);
  return {
    ...published,
    catalogs: [
      ...whole.map((rule) => ({ ...rule, allow: 'none' as const })),
      ...on.flatMap(({ user, catalog, schema }) =>
        schema === undefined ? [{ user, catalog, allow: 'none' as const }] : [],
      ),
      ...published.catalogs,
    ],
    schemas: [
      ...on.flatMap(({ user, catalog, schema, table }) =>
        schema === undefined || table !== undefined ? [] : [{ user, catalog, schema, owner: false }],
      ),
      ...published.schemas,
    ],
    tables: [
      ...on.flatMap(({ schema, ...rule }) => (schema === undefined ? [] : [{ ...rule, schema, privileges: [] }])),
      ...published.tables,
    ],
    queries: [...whole.map((rule) => ({ ...rule, allow: [] })), ...published.queries],
    impersonation: [
      ...(impersonated.length === 0 ? [] : [{ new_user: anyOf(impersonated), allow: false }]),
      ...published.impersonation,
    ],
    system_session_properties: [
      ...whole.map((rule) => ({ ...rule, allow: false })),
      ...published.system_session_properties,
    ],
  };
}

function anyOf(names: readonly string[]): string {
  return names.map(literal).join('|');
}

/** A level below the node is checked with a name that no rule spells out, as the denial names none there. */
function hasNothingAt(evaluator: Evaluator, user: string, { resource }: RevokedNode): boolean {
  const { catalog, schema = 'any schema', table = 'any table' } = resource;
  if (!evaluator.mayRead(user, catalog)) return true;
  if (resource.schema === undefined) return false;
  const deciding = evaluator.tableRule(user, { catalog, schema, table });
  const isOpen = deciding !== null && (evaluator.rules.tables[deciding]?.privileges.length ?? 0) > 0;
  const owns = resource.table === undefined && evaluator.ownsSchema(user, { catalog, schema });
  return !isOpen && !owns;
}
