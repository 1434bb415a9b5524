import { marked } from '../../trino-rules/compile/marker-rules.js';
import { anyOf, literal } from '../../trino-rules/compile/name-pattern.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import {
  MARKER,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
  type RulesDocument,
} from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { KILL_QUERY, kindOf, type Node, withNames } from '../../trino-rules/model/node.js';
import { canBeImpersonated } from '../../trino-rules/model/acting.js';
import type { RevokedNode, RevokedAccess } from './revoked-access.js';

export interface ClosedRules {
  text: string;
  hash: string;
  document: RulesDocument;
}

/**
 * The published document with denials in front for every principal that loses access. The engine applies the first rule that
 * matches, so these remove access and never add any. The compiler decides nothing of it: its parts write names and the marker.
 * @param ownAccount asks the engine which version is live
 * @returns null: the check of the result failed
 */
export function closedRules(published: RulesDocument, losses: RevokedAccess, ownAccount: string): ClosedRules | null {
  const { text, hash } = marked(ownAccount, withDenials(withoutMarker(published), losses));
  const reading = readRules(text);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  if (compareAccess(published, document).gainedInAll > 0) return null;
  return isClosed(document, losses) ? { text, hash, document } : null;
}

/** Whether the rules leave none of this access open: asked of the denials, which are not proved otherwise. */
export function isClosed(rules: RulesDocument, losses: RevokedAccess): boolean {
  const evaluator = new Evaluator(rules);
  return (
    losses.routines.every((loss) => loss.names.every((name) => runsNothingAt(evaluator, name, loss.resource))) &&
    losses.nodes.every((loss) => loss.names.every((name) => hasNothingAt(evaluator, name, loss))) &&
    losses.acting.every(({ actor, names }) => names.every((name) => !evaluator.mayImpersonate(actor, name))) &&
    losses.queries.every(({ user, owners }) =>
      owners.every((owner) => owner === user || OTHERS.every((right) => !evaluator.mayWithQueries(user, right, owner))),
    ) &&
    losses.withoutAccess.every(
      (name) =>
        !evaluator.mayWithQueries(name, 'execute') &&
        SYSTEM_INFORMATION_RIGHTS.every((right) => !evaluator.mayWithSystemInformation(name, right)),
    )
  );
}

function withoutMarker({ system_session_properties: properties, ...document }: RulesDocument): RulesDocument {
  return { ...document, system_session_properties: properties.filter(({ property }) => !property?.startsWith(MARKER)) };
}

/** Every section is named, so that a new one does not compile before it is closed here, too. */
function withDenials(
  published: RulesDocument,
  { nodes, routines, acting, queries, withoutAccess }: RevokedAccess,
): RulesDocument {
  const ofData = nodes.filter(({ resource }) => resource.engine === undefined);
  const denied = ofData.map(({ resource, names }) => ({ user: anyOf(names), ...withNames(resource, literal) }));
  const withCompanions = ({ table }: Node) => (table === undefined ? {} : { table: `${table}([$].*)?` });
  const run = denied.flatMap(({ routine: name, ...where }) => (name === undefined ? [] : [{ where, name }]));
  const outweighed = routines.map(({ resource, names }) => ({ user: anyOf(names), ...withNames(resource, literal) }));
  const onEngine = nodes.flatMap(({ resource, names }) => (resource.engine === true ? names : []));
  const evaluator = new Evaluator(published);
  // What a person may do with queries stands in one rule: executing one's own is kept.
  const [executing = [], others = []] = [true, false].map((isExecuting) =>
    usersOf(onEngine.filter((name) => evaluator.mayWithQueries(name, 'execute') === isExecuting)),
  );
  const catalogs = denied.filter(({ schema }) => schema === undefined);
  const below = denied.filter(({ schema, routine }) => schema !== undefined && routine === undefined);
  const schemas = below.filter(({ table }) => table === undefined);
  const whole = usersOf(withoutAccess);
  const impersonated = withoutAccess.filter(canBeImpersonated);
  return {
    catalogs: [...inFront([...whole, ...catalogs], { allow: 'none' as const }), ...published.catalogs],
    // Whoever owns the schema of a table could drop it, or rename it away from what restricts it.
    schemas: [
      ...inFront(
        below.map(({ table: _table, ...schema }) => schema),
        { owner: false },
      ),
      ...published.schemas,
    ],
    tables: [...below.map((where) => ({ ...where, ...withCompanions(where), privileges: [] })), ...published.tables],
    queries: [
      ...inFront([...whole, ...others], { allow: [] }),
      ...queries.map(({ user, owners }) => ({ user: anyOf([user]), queryOwner: anyOf(owners), allow: [] })),
      ...inFront(executing, { allow: ['execute' as const] }),
      ...published.queries,
    ],
    impersonation: [
      ...(impersonated.length === 0 ? [] : [{ new_user: anyOf(impersonated), allow: false }]),
      ...acting.map(({ actor, names }) => ({ original_user: anyOf([actor]), new_user: anyOf(names), allow: false })),
      ...published.impersonation,
    ],
    functions: closedAlike(published.functions, [
      ...run.map(({ where, name }) => ({ ...where, function: name, privileges: [] })),
      ...inFront([...schemas, ...outweighed], { privileges: [] }),
    ]),
    procedures: closedAlike(published.procedures, [
      ...run.map(({ where, name }) => ({ ...where, procedure: name, privileges: [] })),
      ...usersOf([...onEngine, ...queries.map(({ user }) => user)]).map((rule) => ({
        ...rule,
        ...KILLING,
        privileges: [],
      })),
      ...inFront([...schemas, ...outweighed], { privileges: [] }),
    ]),
    system_information: closedAlike(
      published.system_information,
      inFront([...whole, ...usersOf(onEngine)], { allow: [] }),
    ),
    system_session_properties: [...inFront(whole, { allow: false }), ...published.system_session_properties],
    // Nobody sets these in a catalog that is closed to them.
    catalog_session_properties: published.catalog_session_properties,
  };
}

/** With other people's queries. */
const OTHERS = QUERY_RIGHTS.filter((right) => right !== 'execute');

const KILLING = { catalog: KILL_QUERY.catalog, schema: KILL_QUERY.schema, procedure: KILL_QUERY.routine };

function usersOf(names: readonly string[]): { user: string }[] {
  return names.length === 0 ? [] : [{ user: anyOf(names) }];
}

function inFront<T extends object, D extends object>(rules: readonly T[], denial: D): (T & D)[] {
  return rules.map((rule) => ({ ...rule, ...denial }));
}

/** An empty section is closed already. */
function closedAlike<T extends object>(rules: readonly T[], denials: readonly T[]): T[] {
  return rules.length === 0 ? [] : [...denials, ...rules];
}

/** Whether the first catalog rules for this user shut every catalog, named or not. */
function entersNothing({ first, rules }: Evaluator, user: string): boolean {
  const theirs = rules.catalogs.filter((rule) => first.matches(rule, { user }));
  const end = theirs.findIndex(({ catalog }) => catalog === undefined);
  return end >= 0 && theirs.slice(0, end + 1).every(({ allow }) => allow === 'none');
}

/** A level below the node is checked with a name that no rule spells out, as the denial names none there. */
function hasNothingAt(evaluator: Evaluator, user: string, { resource }: RevokedNode): boolean {
  if (resource.engine === true) return hasNothingOnEngine(evaluator, user);
  if (kindOf(resource) === 'everything') return entersNothing(evaluator, user);
  const { catalog = 'any catalog', schema = 'any schema', table = 'any table' } = resource;
  if (!evaluator.mayRead(user, catalog)) return true;
  if (resource.schema === undefined) return false;
  if (resource.routine !== undefined) return runsNothingAt(evaluator, user, resource);
  const deciding = evaluator.tableRule(user, { catalog, schema, table });
  if (deciding !== null && (evaluator.rules.tables[deciding]?.privileges.length ?? 0) > 0) return false;
  if (evaluator.ownsSchema(user, { catalog, schema })) return false;
  if (resource.table !== undefined) return true;
  return runsNothingAt(evaluator, user, { catalog, schema });
}

function runsNothingAt(evaluator: Evaluator, user: string, resource: Node): boolean {
  return (['function', 'procedure'] as const).every(
    (kind) => !evaluator.allows(user, { about: 'routine', kind, resource, privilege: 'EXECUTE' }),
  );
}

function hasNothingOnEngine(evaluator: Evaluator, user: string): boolean {
  return (
    OTHERS.every((right) => !evaluator.mayWithQueries(user, right)) &&
    SYSTEM_INFORMATION_RIGHTS.every((right) => !evaluator.mayWithSystemInformation(user, right)) &&
    !evaluator.mayRun(user, { kind: 'procedure', resource: KILL_QUERY, privilege: 'EXECUTE' })
  );
}
