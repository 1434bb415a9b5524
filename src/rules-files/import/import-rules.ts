import { resourceNameProblem } from '../../kernel/name.js';
import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument, type TableRule } from '../../trino-rules/document/rules-document.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import type { Principal } from '../../trino-rules/model/principal.js';
import { type Level, levelOf, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { holderProblem } from '../../trino-rules/model/holder.js';
import { type Privilege, privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotSettings,
} from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { GroupNames } from './group-names.js';
import { KnownNames, type ListedName } from './known-names.js';
import type { ListedRules } from './listed-rules.js';
import { OutcomeReader } from './node-outcome.js';
import { accessOf, type OutcomeNode, type UserAccess } from './user-access.js';
import { systemTables } from './system-tables.js';
import { RightsReader } from './user-rights.js';

const NOTHING: UserAccess = { grants: [], denies: [], filters: [], hidden: [], masks: [] };

/** The one schema of `system` that is not read by everybody who reaches something. */
const OF_PEOPLE = 'runtime';

/** Access that is not imported, whatever the rules say. */
export interface Exclusion {
  user: string;
  /** Null: all of them. */
  catalog: string | null;
}

/**
 * Grants, groups and policies that give these users what the rules give them, on every node that the rules name and in every catalog
 * that the settings name. Users who are alike become a group, by the name of the engine's group of exactly these where it has one.
 * Never more access than the rules give; where grants cannot say the same, less. A user who may not execute queries gets nothing.
 */
export function importRules(
  { document, problemOf }: Pick<ListedRules, 'document' | 'problemOf'>,
  listed: readonly ListedUser[],
  patterns: PatternCache,
  { settings, at }: { settings: SnapshotSettings; at: Date },
  excluded: readonly Exclusion[] = [],
  listing: readonly ListedName[] = [],
): Snapshot {
  const names = listed.map(({ name }) => name);
  const engine = new EngineSets(document, patterns, new UserUniverse(names, [document], patterns));
  patterns.take(catalogsOf(settings));
  const nodes = namedNodes(engine, settings, new KnownNames(listing, document, patterns));
  const users = [...new Set(names)].map((name, i) => ({ id: i + 1, name, isActive: true }));
  const alike = new Map<string, { access: UserAccess[]; users: Snapshot['users'][number][] }>();
  const accessByRules = new Map<string, UserAccess[]>();
  for (const user of users) {
    const own = excluded.filter((each) => each.user === user.name).map(({ catalog }) => catalog);
    const applying = rulesFor(user.name, document, patterns);
    const executing = applying.rules.queries.find(({ queryOwner }) => queryOwner === undefined);
    if (own.includes(null) || !executing?.allow.includes('execute')) continue;
    const access = getOrInsert(accessByRules, [applying.key, ...own].join(' '), () =>
      accessBy(applying.rules, user.name, own),
    );
    getOrInsert(alike, JSON.stringify(access), () => ({ access, users: [] })).users.push(user);
  }
  const groups: SnapshotGroup[] = [];
  const groupNames = new GroupNames(listed);
  const grants: SnapshotGrant[] = [];
  const policies: SnapshotPolicy[] = [];
  for (const { access, users: members } of alike.values()) {
    const [first, ...others] = members;
    if (first === undefined || access.every(({ grants }) => grants.length === 0)) continue;
    let principal: Principal = { type: 'user', id: first.id };
    if (others.length > 0) {
      const id = groups.length + 1;
      const name = groupNames.take(members.map((member) => member.name));
      groups.push({ id, name, members: members.map((member) => member.id), engines: [] });
      principal = { type: 'group', id };
    }
    for (const part of access) addRows(part, principal, members, { grants, policies });
  }
  return { users, groups, grants, policies, settings, at };

  /** What rules give one user, without the excluded catalogs. */
  function accessBy(rules: RulesDocument, user: string, without: readonly (string | null)[]): UserAccess[] {
    const reader = new OutcomeReader(rules, patterns, (rule) => problemOf(rule) !== null);
    // What is left out of a catalog cannot be given on everything.
    const isIncluded = ({ resource: { catalog } }: { resource: Node }): boolean =>
      catalog === undefined ? without.length === 0 : !without.includes(catalog);
    const roots = without.length === 0 && isOpen({}, settings) ? [{ resource: {}, below: nodes }] : nodes;
    const data = roots.filter(isIncluded).map((node) => accessOf(outcomes(reader, user, node, engine.fresh)));
    const catalogs = { named: nodes.flatMap(({ resource: { catalog } }) => catalog ?? []), fresh: engine.fresh };
    const rights = new RightsReader(rules, patterns, settings.metadataCatalog, catalogs);
    const onRoutines = rights.onRoutines(user, data).filter(isIncluded);
    const ofSystem = { tables: engine.tables, fresh: engine.fresh, schemaNames: [...engine.schemaNames(SYSTEM)] };
    const reaching = [...data.flatMap(({ grants }) => grants), ...onRoutines];
    const inSystem = systemTables(reader, user, ofSystem).filter(isIncluded);
    // Who reaches anything else reads the rest anyway.
    const isNeeded = ({ resource }: { resource: Node }): boolean =>
      reaching.length === 0 || resource.schema === undefined || resource.schema === OF_PEOPLE;
    return [...data, { ...NOTHING, grants: [...onRoutines, ...inSystem.filter(isNeeded), ...rights.onEngine(user)] }];
  }
}

type OwnRules = Pick<
  RulesDocument,
  'catalogs' | 'schemas' | 'tables' | 'queries' | 'functions' | 'procedures' | 'system_information'
>;

/** The rules about rights that can be granted which are about a user; the key is the same for users whom the same rules are about. */
function rulesFor(
  user: string,
  { catalogs, schemas, tables, queries, functions, procedures, system_information }: RulesDocument,
  patterns: PatternCache,
): { rules: RulesDocument; key: string } {
  const indexes: (number | string)[] = [];
  const own = <Rule extends { user?: string }>(rules: readonly Rule[]): Rule[] => {
    indexes.push('|');
    return rules.filter((rule, index) => {
      const isOwn = patterns.matches(rule.user, user);
      if (isOwn) indexes.push(index);
      return isOwn;
    });
  };
  const found: OwnRules = {
    catalogs: own(catalogs),
    schemas: own(schemas),
    tables: own(tables),
    queries: own(queries),
    functions: own(functions),
    procedures: own(procedures),
    system_information: own(system_information),
  };
  return { rules: { ...NO_RULES, ...found }, key: indexes.join(',') };
}

function catalogsOf({ writableCatalogs, readableCatalogs }: SnapshotSettings): string[] {
  return [...writableCatalogs, ...readableCatalogs];
}

/** A named node; `null` tables and schemas are the unnamed ones, which every node has. */
interface NamedNode {
  resource: Node;
  below: NamedNode[];
}

function namedNodes(engine: EngineSets, settings: SnapshotSettings, known: KnownNames): NamedNode[] {
  // An open pattern brings up one of the names that it matches, which nobody named.
  const spelled = new Set(spelledNames(engine));
  const nodesOf = (
    above: Node,
    level: Level,
    { ruled, listed }: { ruled: Iterable<string>; listed: Iterable<string> },
    below: (node: Node, name: string) => NamedNode[],
  ): NamedNode[] => {
    const names = new Set([...[...ruled].filter((name) => spelled.has(name)), ...listed]);
    return [...names].sort().flatMap((name) => {
      const resource = { ...above, [level]: name };
      if (resourceNameProblem(name) !== null || !isOpen(resource, settings)) return [];
      return [{ resource, below: below(resource, name) }];
    });
  };
  const { functions, procedures } = engine;
  const routines = [functions, procedures].flatMap((trie) => [...trie.branch([]).names()]);
  const catalogs = {
    ruled: [...engine.catalogNames(), ...routines],
    listed: [...known.catalogs(), ...catalogsOf(settings)],
  };
  return nodesOf({}, 'catalog', catalogs, (inCatalog, catalog) => {
    const schemas = { ruled: engine.schemaNames(catalog), listed: known.schemas(catalog) };
    return nodesOf(inCatalog, 'schema', schemas, (inSchema, schema) => {
      const ruled = [...engine.tables.branch([catalog, schema]).names()];
      const tables = nodesOf(inSchema, 'table', { ruled, listed: known.tables(catalog, schema) }, () => []);
      engine.spend(STEPS_PER_NODE * (tables.length + 1));
      return tables;
    });
  });
}

function isOpen(resource: Node, { metadataCatalog }: SnapshotSettings): boolean {
  const isClosed = resource.catalog === SYSTEM || closedProblem(resource, metadataCatalog) !== null;
  return !isClosed && privilegesOn(resource).includes('SELECT');
}

const STEPS_PER_NODE = 1_000;

function* spelledNames({ rules: document, patterns }: EngineSets): Generator<string> {
  const { catalogs, schemas, tables, functions, procedures } = document;
  const onData: readonly Pick<TableRule, 'catalog' | 'schema' | 'table'>[] = [...catalogs, ...schemas, ...tables];
  const onRoutines = [...functions, ...procedures].map(({ catalog, schema }) => ({
    catalog,
    schema,
    table: undefined,
  }));
  const rules = [...onData, ...onRoutines];
  const texts = new Set(rules.flatMap(({ catalog, schema, table }) => [catalog, schema, table]));
  for (const text of texts) {
    const language = patterns.language(text);
    if (language.kind === 'names') yield* language.names;
    if (language.kind === 'open') yield* language.spelled;
  }
}

function outcomes(reader: OutcomeReader, user: string, { resource, below }: NamedNode, fresh: string): OutcomeNode {
  const { catalog, schema, table } = resource;
  const outcome =
    catalog !== undefined && schema !== undefined && table !== undefined
      ? reader.table(user, { catalog, schema, table })
      : reader.unnamed(user, { catalog: catalog ?? fresh, schema: schema ?? fresh, table: fresh }, levelOf(resource));
  return { resource, outcome, below: below.map((node) => outcomes(reader, user, node, fresh)) };
}

function addRows(
  access: UserAccess,
  principal: Principal,
  members: Snapshot['users'],
  { grants, policies }: { grants: SnapshotGrant[]; policies: SnapshotPolicy[] },
): void {
  const add = (to: Principal, resource: Node, privileges: readonly Privilege[]): void => {
    if (privileges.length === 0) return;
    const id = grants.length + 1;
    grants.push({ id, principal: to, resource, privileges: [...privileges], expiresAt: null, revokedAt: null });
  };
  for (const { resource, privileges } of access.grants) {
    // What no group may hold, its members hold.
    const alone = privileges.filter((privilege) => holderProblem([privilege], principal) !== null);
    const together = privileges.filter((privilege) => !alone.includes(privilege));
    add(principal, resource, together);
    for (const { id } of members) add({ type: 'user', id }, resource, alone);
  }
  const base = () => ({ id: policies.length + 1, principal, except: [] });
  for (const row of access.denies) policies.push({ ...base(), kind: 'deny', ...row });
  for (const row of access.filters) policies.push({ ...base(), kind: 'row_filter', ...row });
  for (const row of access.hidden) policies.push({ ...base(), kind: 'hidden_column', ...row });
  for (const row of access.masks) policies.push({ ...base(), kind: 'column_mask', ...row });
}
