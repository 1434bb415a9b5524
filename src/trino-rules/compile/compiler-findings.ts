import { foldedName, namesText } from '../../kernel/name.js';
import { expressionWarnings } from '../document/expression-warnings.js';
import type { Finding } from '../document/finding.js';
import type { Subject } from '../model/principal.js';
import type { Snapshot } from '../model/snapshot.js';
import { hasEffect, isInMetadataCatalog, isReplacementSafe, ROUTINE_PRIVILEGES, SYSTEM } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { depthOf, pathText } from './resource-tree.js';

/** The compiler's findings about a snapshot. Errors, such as two principals with the same name, stop the publication. */
export function compilerFindings(snapshot: Snapshot, intent: IntentSets): Finding[] {
  return [
    ...nameClashFindings(intent),
    ...closedCatalogFindings(snapshot),
    ...routineGrantFindings(snapshot),
    ...openQueryFindings(snapshot),
    ...openRuntimeFindings(snapshot),
    ...wideFilterFindings(snapshot),
    ...expressionFindings(snapshot),
    ...unwritableNameFindings(snapshot, intent),
    ...impersonationFindings(intent),
    ...maskConflictFindings(snapshot, intent),
    ...lostOwnershipFindings(intent),
  ];
}

/** Errors about two principals with the same name, ignoring the case of ASCII letters (docs/decisions/0007). */
function nameClashFindings({ principals }: IntentSets): Finding[] {
  const subjectsByName = new Map<string, Subject[]>();
  for (const subject of principals.subjects) {
    getOrInsert(subjectsByName, foldedName(subject.name), () => []).push(subject);
  }
  return [...subjectsByName.values()]
    .filter((subjects) => subjects.length > 1)
    .map((subjects) => subjects.map(({ kind, name }) => `${kind} ${name}`).join(', '))
    .map((names) => ({ code: 'name-clash', severity: 'error', message: `one name means two principals: ${names}` }));
}

function warning(code: string, message: string): Finding {
  return { code, severity: 'warning', message };
}

function closedCatalogFindings({ settings, grants, policies }: Snapshot): Finding[] {
  const serviceCatalogs = [...settings.writableCatalogs, ...settings.readableCatalogs];
  const settingFindings = serviceCatalogs
    .filter((catalog) => catalog === SYSTEM || isInMetadataCatalog({ catalog }, settings))
    .map((catalog): Finding => {
      const message = `the settings open catalog ${catalog} to the service accounts, in which nobody may be given anything`;
      return { code: 'closed-catalog', severity: 'error', message };
    });
  const closedEntries = [...grants, ...policies].filter(({ resource }) => isInMetadataCatalog(resource, settings));
  const entryFindings = [...new Set(closedEntries.map(({ resource }) => pathText(resource)))].sort().map((nodeText) => {
    const message = `grants and policies on ${nodeText} have no effect: nobody may be given anything in that catalog`;
    return warning('closed-catalog', message);
  });
  return [...settingFindings, ...entryFindings];
}

/** Findings about grants of routines. Such a grant also gives access to the catalog. A pass-through routine has all rights of the connection (seen on 483). */
function routineGrantFindings({ grants, settings, at }: Snapshot): Finding[] {
  const routineGrants = grants
    .filter((grant) => hasEffect(grant, at) && !isInMetadataCatalog(grant.resource, settings))
    .filter(({ privileges }) => privileges.some((privilege) => ROUTINE_PRIVILEGES.includes(privilege)))
    .sort((a, b) => a.id - b.id);
  const wideFindings = routineGrants.flatMap(({ id, principal, resource }): Finding[] => {
    if (principal.type !== 'everyone' && resource.catalog !== undefined) return [];
    const scopeText = principal.type === 'everyone' ? 'to everyone' : 'on everything';
    const message = `grant ${id} of functions or procedures is ${scopeText}: a pass-through routine reads and writes whatever a catalog's connection may`;
    return [warning('routines-wide-open', message)];
  });
  const idsByCatalog = new Map<string, number[]>();
  for (const { id, resource } of routineGrants)
    if (resource.catalog !== undefined) getOrInsert(idsByCatalog, resource.catalog, () => []).push(id);
  const catalogFindings = [...idsByCatalog]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([catalog, ids]): Finding => {
      const grantsText = `grant${ids.length > 1 ? 's' : ''} ${listText(ids)}`;
      const message = `${grantsText} of functions or procedures let their holders into catalog ${catalog}, where the engine then takes ALTER TABLE … EXECUTE on any table`;
      return { code: 'routines-open-catalog', severity: 'info', message };
    });
  return [...wideFindings, ...catalogFindings];
}

/** Warnings about VIEW_QUERIES for everyone. This privilege shows the literals of statements, and the filters and masks in query plans. */
function openQueryFindings({ grants, at }: Snapshot): Finding[] {
  const everyoneGrants = grants.filter(
    (grant) =>
      grant.principal.type === 'everyone' &&
      grant.privileges.includes('VIEW_QUERIES') &&
      ['everyone', undefined].includes(grant.resource.queries?.type) &&
      hasEffect(grant, at),
  );
  return everyoneGrants.map(({ id }) => {
    const message = `grant ${id} of VIEW_QUERIES to everyone shows everybody the text of everybody's statements, with their literals, and other people's filters and masks in the plans`;
    return warning('queries-open-to-everyone', message);
  });
}

/** Warnings about grants of `system.runtime` to everyone: the engine filters only its table `queries` for each reader (seen on 483). */
function openRuntimeFindings({ grants, at }: Snapshot): Finding[] {
  const everyoneGrants = grants.filter(
    (grant) =>
      grant.principal.type === 'everyone' &&
      grant.resource.catalog === SYSTEM &&
      [undefined, 'runtime'].includes(grant.resource.schema) &&
      hasEffect(grant, at),
  );
  return everyoneGrants.map(({ id, resource }) => {
    const message = `grant ${id} of SELECT on ${pathText(resource)} to everyone shows everybody the tasks and transactions of everybody, and the nodes`;
    return warning('runtime-open-to-everyone', message);
  });
}

/** Warnings about row filters on a catalog or on everything: a table without the columns of the filter cannot be read. */
function wideFilterFindings({ settings, policies }: Snapshot): Finding[] {
  return policies
    .filter(({ kind, resource }) => kind === 'row_filter' && depthOf(resource) < 2)
    .filter(({ resource }) => !isInMetadataCatalog(resource, settings))
    .map(({ id, resource }) => {
      const scopeText = resource.catalog === undefined ? 'everything' : `the catalog ${resource.catalog}`;
      const message = `row filter ${id} is on ${scopeText}: a table there without the filter's columns cannot be read; put it on the schemas or tables that have them`;
      return warning('wide-row-filter', message);
    });
}

function expressionFindings({ policies }: Snapshot): Finding[] {
  return policies.flatMap((policy) =>
    expressionWarnings(policy).map((text) =>
      warning('remarkable-expression', `${policy.kind.replace('_', ' ')} ${policy.id}: ${text}`),
    ),
  );
}

function unwritableNameFindings({ settings }: Snapshot, { principals, usersWithAccess }: IntentSets): Finding[] {
  if (!settings.impersonation) return [];
  return principals
    .namesOf(usersWithAccess.and(principals.activePeople))
    .filter((name) => !isReplacementSafe(name))
    .map((name) =>
      warning('impersonation-name', `${name} cannot run queries through the service: ${UNWRITABLE_REASON}`),
    );
}

const UNWRITABLE_REASON = "the engine's impersonation rules cannot hold a name with $, \\, ^, [ or ]";

/** Warnings about names that impersonation rules cannot contain, and about grants without a target that can be impersonated. */
function impersonationFindings({ impersonation, principals }: IntentSets): Finding[] {
  const { unwritableTargets, idleGrantIds } = impersonation;
  return [
    ...principals
      .namesOf(unwritableTargets)
      .map((name) => warning('acting-name', `nobody acts as ${name}: ${UNWRITABLE_REASON}`)),
    ...idleGrantIds.map((id) => {
      const message = `grant ${id} of IMPERSONATE has no effect: it names no active account and no known engine principal that could be acted as; one that holds IMPERSONATE is acted as by nobody`;
      return warning('acting-as-nobody', message);
    }),
  ];
}

/** A warning about granted ownership that has no effect, because a filter, a mask, a hidden column or a deny takes it away. */
function lostOwnershipFindings({
  lostOwnership: { nodes, userPositions: positions },
  principals,
}: IntentSets): Finding[] {
  if (nodes.size === 0) return [];
  const nodeTexts = [...nodes].map((node) => pathText(node) || 'everything');
  const names = new Set([...positions].flatMap((position) => principals.subjects[position]?.name ?? []));
  const message =
    `ownership has no effect on ${listText(nodeTexts)}: a filter, a mask, a hidden column or a deny applies there or below for ` +
    `${listText([...names])}, who would lead around it as owners`;
  return [warning('ownership-restricted', message)];
}

function listText(names: readonly (string | number)[]): string {
  return namesText(names, 3);
}

/** Warnings about conflicts of masks. Skips catalogs in which no node has two masks for one column: they have no conflicts. */
function maskConflictFindings({ policies }: Snapshot, intent: IntentSets): Finding[] {
  const maskedColumns = new Set<string>();
  const suspectCatalogs = new Set<string>();
  for (const { kind, resource } of policies) {
    if (kind !== 'column_mask') continue;
    const key = JSON.stringify([resource.catalog, resource.schema, resource.table, resource.column]);
    if (maskedColumns.has(key)) suspectCatalogs.add(resource.catalog ?? '');
    maskedColumns.add(key);
  }
  if (suspectCatalogs.has('')) return conflictFindingsBelow(intent.root, intent);
  const catalogs = [...intent.root.children()].filter(({ name }) => suspectCatalogs.has(name));
  return catalogs.flatMap((catalog) => conflictFindingsBelow(catalog, intent));
}

/** Warnings about contradictory masks at a node and below. A child that inherits a contradiction gets no warning of its own. */
function conflictFindingsBelow({ resource, access, children }: NamedNode, intent: IntentSets): Finding[] {
  const namesByColumn = new Map<string, string[]>();
  for (const { position, parentState, nodeState } of access.changes) {
    const name = intent.principals.subjects[position]?.name ?? '';
    for (const column of nodeState.conflictColumns) {
      if (parentState.conflictColumns.includes(column)) continue;
      getOrInsert(namesByColumn, column, () => []).push(name);
    }
  }
  const ownFindings = [...namesByColumn].map(([column, names]) => {
    const message = `two masks at the same distance claim column ${column} of ${pathText(resource)} for ${listText(names)}: it is hidden from them`;
    return warning('mask-conflict', message);
  });
  return [...ownFindings, ...[...children()].flatMap((child) => conflictFindingsBelow(child, intent))];
}
