import { firstNames, foldedName } from '../../kernel/name.js';
import { expressionWarnings } from '../document/expression-warnings.js';
import type { Finding } from '../document/finding.js';
import type { Subject } from '../model/principal.js';
import type { Snapshot } from '../model/snapshot.js';
import { hasEffect, isClosed, isReplacementSafe, ROUTINE_PRIVILEGES, SYSTEM } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { depthOf, pathText } from './resource-tree.js';

/** The compiler's findings about a snapshot. Only a name shared by two principals stops the publication. */
export function compilerFindings(snapshot: Snapshot, intent: IntentSets): Finding[] {
  return [
    ...nameClashes(intent),
    ...closedCatalogs(snapshot),
    ...openRoutines(snapshot),
    ...openQueries(snapshot),
    ...openRuntime(snapshot),
    ...wideFilters(snapshot),
    ...remarkableExpressions(snapshot),
    ...unwritableNames(snapshot, intent),
    ...leftOutOfActing(intent),
    ...conflictsOfMasks(snapshot, intent),
    ...lostOwnership(intent),
  ];
}

/** Two principals with one name, in any case of ASCII letters (docs/decisions/0007). */
function nameClashes({ principals }: IntentSets): Finding[] {
  const byName = new Map<string, Subject[]>();
  for (const subject of principals.subjects) {
    getOrInsert(byName, foldedName(subject.name), () => []).push(subject);
  }
  return [...byName.values()]
    .filter((named) => named.length > 1)
    .map((named) => named.map(({ kind, name }) => `${kind} ${name}`).join(', '))
    .map((names) => ({ code: 'name-clash', severity: 'error', message: `one name means two principals: ${names}` }));
}

function warning(code: string, message: string): Finding {
  return { code, severity: 'warning', message };
}

function closedCatalogs({ settings, grants, policies }: Snapshot): Finding[] {
  const served = [...settings.writableCatalogs, ...settings.readableCatalogs];
  const set = served
    .filter((catalog) => catalog === SYSTEM || isClosed({ catalog }, settings))
    .map((catalog): Finding => {
      const message = `the settings open catalog ${catalog} to the service accounts, in which nobody may be given anything`;
      return { code: 'closed-catalog', severity: 'error', message };
    });
  const closedRows = [...grants, ...policies].filter(({ resource }) => isClosed(resource, settings));
  const ignored = [...new Set(closedRows.map(({ resource }) => pathText(resource)))].sort().map((where) => {
    const message = `grants and policies on ${where} have no effect: nobody may be given anything in that catalog`;
    return warning('closed-catalog', message);
  });
  return [...set, ...ignored];
}

/** Grants of routines: a pass-through routine is as wide as the connection; entering a catalog opens table procedures (seen on 483). */
function openRoutines({ grants, settings, at }: Snapshot): Finding[] {
  const running = grants
    .filter((grant) => hasEffect(grant, at) && !isClosed(grant.resource, settings))
    .filter(({ privileges }) => privileges.some((privilege) => ROUTINE_PRIVILEGES.includes(privilege)))
    .sort((a, b) => a.id - b.id);
  const wide = running.flatMap(({ id, principal, resource }): Finding[] => {
    if (principal.type !== 'everyone' && resource.catalog !== undefined) return [];
    const where = principal.type === 'everyone' ? 'to everyone' : 'on everything';
    const message = `grant ${id} of functions or procedures is ${where}: a pass-through routine reads and writes whatever a catalog's connection may`;
    return [warning('routines-wide-open', message)];
  });
  const byCatalog = new Map<string, number[]>();
  for (const { id, resource } of running)
    if (resource.catalog !== undefined) getOrInsert(byCatalog, resource.catalog, () => []).push(id);
  const entered = [...byCatalog]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([catalog, ids]): Finding => {
      const those = `grant${ids.length > 1 ? 's' : ''} ${listed(ids)}`;
      const message = `${those} of functions or procedures let their holders into catalog ${catalog}, where the engine then takes ALTER TABLE … EXECUTE on any table`;
      return { code: 'routines-open-catalog', severity: 'info', message };
    });
  return [...wide, ...entered];
}

/** Grants of viewing queries to everyone: plans show the literals of statements, and other people's filters and masks. */
function openQueries({ grants, at }: Snapshot): Finding[] {
  const open = grants.filter(
    (grant) =>
      grant.principal.type === 'everyone' &&
      grant.privileges.includes('VIEW_QUERIES') &&
      ['everyone', undefined].includes(grant.resource.queries?.type) &&
      hasEffect(grant, at),
  );
  return open.map(({ id }) => {
    const shown =
      "the text of everybody's statements, with their literals, and other people's filters and masks in the plans";
    return warning('queries-open-to-everyone', `grant ${id} of VIEW_QUERIES to everyone shows everybody ${shown}`);
  });
}

/** Grants of `system.runtime` to everyone: the engine filters only its table `queries` for each reader (seen on 483). */
function openRuntime({ grants, at }: Snapshot): Finding[] {
  const open = grants.filter(
    (grant) =>
      grant.principal.type === 'everyone' &&
      grant.resource.catalog === SYSTEM &&
      [undefined, 'runtime'].includes(grant.resource.schema) &&
      hasEffect(grant, at),
  );
  return open.map(({ id, resource }) => {
    const message = `grant ${id} of SELECT on ${pathText(resource)} to everyone shows everybody the tasks and transactions of everybody, and the nodes`;
    return warning('runtime-open-to-everyone', message);
  });
}

/** Row filters on a catalog or on everything: the engine refuses to read a table that lacks a column of its row filter. */
function wideFilters({ settings, policies }: Snapshot): Finding[] {
  return policies
    .filter(({ kind, resource }) => kind === 'row_filter' && depthOf(resource) < 2 && !isClosed(resource, settings))
    .map(({ id, resource }) => {
      const where = resource.catalog === undefined ? 'everything' : `the catalog ${resource.catalog}`;
      const message = `row filter ${id} is on ${where}: a table there without the filter's columns cannot be read; put it on the schemas or tables that have them`;
      return warning('wide-row-filter', message);
    });
}

function remarkableExpressions({ policies }: Snapshot): Finding[] {
  return policies.flatMap((policy) =>
    expressionWarnings(policy).map((text) =>
      warning('remarkable-expression', `${policy.kind.replace('_', ' ')} ${policy.id}: ${text}`),
    ),
  );
}

function unwritableNames({ settings }: Snapshot, { principals, reachesSomething }: IntentSets): Finding[] {
  if (!settings.impersonation) return [];
  return principals
    .namesOf(reachesSomething.and(principals.activePeople))
    .filter((name) => !isReplacementSafe(name))
    .map((name) => warning('impersonation-name', `${name} cannot run queries through the service: ${UNWRITABLE}`));
}

const UNWRITABLE = "the engine's impersonation rules cannot hold a name with $, \\, ^, [ or ]";

/** Names that cannot be written in a rule of impersonation, and grants without any target that can be impersonated. */
function leftOutOfActing({ acting: { unwritable, idle }, principals }: IntentSets): Finding[] {
  return [
    ...principals.namesOf(unwritable).map((name) => warning('acting-name', `nobody acts as ${name}: ${UNWRITABLE}`)),
    ...idle.map((id) => {
      const message = `grant ${id} of IMPERSONATE has no effect: it names no active account and no known engine principal that could be acted as; one that holds IMPERSONATE is acted as by nobody`;
      return warning('acting-as-nobody', message);
    }),
  ];
}

/**
 * Ownership that a filter, a mask, a hidden column or a deny of another privilege takes: at the nodes where these restrictions
 * begin, and on the schema if they begin at one of its tables.
 */
function lostOwnership({ lostOwnership: { nodes, positions }, principals }: IntentSets): Finding[] {
  if (nodes.size === 0) return [];
  const places = [...nodes].map((node) => pathText(node) || 'everything');
  const names = new Set([...positions].flatMap((position) => principals.subjects[position]?.name ?? []));
  const message =
    `ownership has no effect on ${listed(places)}: a filter, a mask, a hidden column or a deny applies there or below for ` +
    `${listed([...names])}, who would lead around it as owners`;
  return [warning('ownership-restricted', message)];
}

function listed(names: readonly (string | number)[]): string {
  return firstNames(names, 3);
}

/** Conflicts of masks. Only nodes with two masks of one column are looked at, because a conflict begins nowhere else. */
function conflictsOfMasks({ policies }: Snapshot, intent: IntentSets): Finding[] {
  const claimed = new Set<string>();
  const suspects = new Set<string>();
  for (const { kind, resource } of policies) {
    if (kind !== 'column_mask') continue;
    const key = JSON.stringify([resource.catalog, resource.schema, resource.table, resource.column]);
    if (claimed.has(key)) suspects.add(resource.catalog ?? '');
    claimed.add(key);
  }
  if (suspects.has('')) return maskConflicts(intent.root, intent);
  const catalogs = [...intent.root.children()].filter(({ name }) => suspects.has(name));
  return catalogs.flatMap((catalog) => maskConflicts(catalog, intent));
}

/** A conflict is reported once, at the node where it begins, for users with access there. */
function maskConflicts({ resource, access, children }: NamedNode, intent: IntentSets): Finding[] {
  const claimed = new Map<string, string[]>();
  for (const { position, from, to } of access.changes) {
    const name = intent.principals.subjects[position]?.name ?? '';
    for (const column of to.conflicts) {
      if (from.conflicts.includes(column)) continue;
      getOrInsert(claimed, column, () => []).push(name);
    }
  }
  const here = [...claimed].map(([column, names]) => {
    const message = `two masks at the same distance claim column ${column} of ${pathText(resource)} for ${listed(names)}: it is hidden from them`;
    return warning('mask-conflict', message);
  });
  return [...here, ...[...children()].flatMap((child) => maskConflicts(child, intent))];
}
