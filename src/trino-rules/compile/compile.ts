import type { Finding } from '../document/finding.js';
import type { CatalogRule, RulesDocument, TableRule } from '../document/rules-document.js';
import type { Snapshot, SnapshotSettings } from '../model/snapshot.js';
import { actingRules } from './acting-rules.js';
import type { CatalogModes } from './catalog-walk.js';
import { compilerFindings } from './compiler-findings.js';
import { killingRules, queryRules, systemInformationRules } from './engine-rights.js';
import { FILTERED_SYSTEM_SCHEMAS, isReplacementSafe, SYSTEM, TABLE_PRIVILEGES } from './engine-terms.js';
import { intentSets, type IntentSets } from './intent-sets.js';
import { marked } from './rules-text.js';
import { anyOf } from './name-pattern.js';
import type { Sibling } from './rectangles.js';
import { routineRules, schemaRules } from './right-rules.js';
import { SiblingRules } from './sibling-rules.js';
import { type RulesUnderParent, tableRules } from './table-rules.js';
import { EVERY_ROW } from './access-state.js';

export interface CompiledRules {
  document: RulesDocument;
  /** The canonical text of the document: equal snapshots give equal bytes. */
  text: string;
  /** SHA-256 over the text without the marker rule: 64 hexadecimal digits. */
  hash: string;
  findings: Finding[];
  /** The parent with most table rules. */
  largest: RulesUnderParent;
}

/**
 * Compiles a snapshot into the engine's rules: pure and deterministic, every section present and closed by default.
 * The first matching rule of a section decides, so the service accounts' rules come first, then the narrowest.
 * @param maxBytes size of the target
 * @throws RulesTooLarge as soon as the table rules are longer
 */
export function compile(snapshot: Snapshot, maxBytes = Infinity): CompiledRules {
  const intent = intentSets(snapshot);
  const write = new SiblingRules(intent);
  const { rules: tables, largest } = tableRules(intent, write, maxBytes);
  const unmarked = unmarkedDocument(snapshot, intent, write, tables);
  const findings = compilerFindings(snapshot, intent);
  return { ...marked(snapshot.settings.ownAccount, unmarked), findings, largest };
}

function unmarkedDocument(
  { settings }: Snapshot,
  intent: IntentSets,
  write: SiblingRules,
  tables: readonly TableRule[],
): RulesDocument {
  const accounts = serviceAccountRules(settings);
  const { activePeople, serviceAccounts, namesOf } = intent.principals;
  // Service accounts have a rule of their own before.
  const others = intent.reachesSomething.minus(serviceAccounts);
  const people = namesOf(intent.reachesSomething.and(activePeople));
  const impersonated = settings.impersonation ? people.filter(isReplacementSafe) : [];
  return {
    // The engine opens `system` to all users after the last catalog rule, unless an earlier rule of ours matches.
    catalogs: [...accounts.catalogs, ...catalogRules(intent, write), { allow: 'none' }],
    schemas: [...accounts.schemas, ...schemaRules(intent, write)],
    tables: [...accounts.tables, ...tables],
    queries: queryRules(intent.reachesSomething, intent.engine, intent.principals),
    impersonation: [
      ...(impersonated.length > 0
        ? [{ original_user: anyOf([settings.ownAccount]), new_user: anyOf(impersonated), allow: true }]
        : []),
      ...actingRules(intent.acting, intent.principals),
    ],
    // Built-in functions need no rule (seen on 483).
    functions: routineRules('function', intent, write),
    procedures: [...killingRules(intent.engine, intent.principals), ...routineRules('procedure', intent, write)],
    system_information: systemInformationRules(intent.engine, intent.principals),
    system_session_properties: [
      { user: anyOf(settings.serviceAccounts), allow: true },
      ...(settings.sessionProperties.length > 0 && !others.isEmpty()
        ? [{ user: anyOf(namesOf(others)), property: anyOf(settings.sessionProperties), allow: true }]
        : []),
    ],
    catalog_session_properties: accounts.catalog_session_properties,
  };
}

/** Catalog rules: users with access to something in a catalog may enter it, in the narrowest mode. Named catalogs come first. */
function catalogRules(intent: IntentSets, write: SiblingRules): CatalogRule[] {
  const { none, serviceAccounts } = intent.principals;
  const nobody = { all: none, readOnly: none };
  const siblings = [...intent.root.children()].map(({ name }) =>
    // `system` gets explicit rules, independent of access elsewhere.
    sibling(name, intent.catalogModes(name), name === SYSTEM ? nobody : intent.otherModes),
  );
  const system = siblings.filter(({ name }) => name === SYSTEM);
  const others = siblings.filter(({ name }) => name !== SYSTEM);
  return [
    ...write.of(others, 'catalog', {}),
    ...write.of(system, 'catalog', {}),
    ...write.of([sibling('', intent.otherModes, nobody)], 'everything', {}),
  ];

  /** @param otherwise the modes that the next broader rule gives */
  function sibling(name: string, modes: CatalogModes, otherwise: CatalogModes): Sibling<Pick<CatalogRule, 'allow'>> {
    const all = modes.all.minus(serviceAccounts);
    const readOnly = modes.readOnly.minus(serviceAccounts);
    const holders = all.or(readOnly);
    const shut = intent.otherModes.all.or(intent.otherModes.readOnly).minus(holders);
    const parts = [
      { effect: { allow: 'all' }, rank: 2, must: all.minus(otherwise.all), may: all },
      { effect: { allow: 'read-only' }, rank: 1, must: readOnly.minus(otherwise.readOnly), may: readOnly },
      { effect: { allow: 'none' }, rank: 0, must: shut, may: shut },
    ] as const;
    return { name, parts, holders };
  }
}

type ServiceAccountRules = Pick<RulesDocument, 'catalogs' | 'schemas' | 'tables' | 'catalog_session_properties'>;

/** Rules of service accounts by the settings: in all three sections, because a missing rule would deny everything. */
export function serviceAccountRules(settings: SnapshotSettings): ServiceAccountRules {
  const user = anyOf(settings.serviceAccounts);
  const open = (catalog: string) => catalog !== settings.metadataCatalog && catalog !== SYSTEM;
  const writable = settings.writableCatalogs.filter(open);
  const readable = settings.readableCatalogs.filter((catalog) => open(catalog) && !writable.includes(catalog));
  const rule = <T extends object>(catalogs: string[], gives: T) =>
    catalogs.length > 0 ? [{ user, catalog: anyOf(catalogs), ...gives }] : [];
  return {
    catalogs: [
      ...rule(writable, { allow: 'all' } as const),
      ...rule(readable, { allow: 'read-only' } as const),
      ...rule([SYSTEM], { allow: 'read-only' } as const),
    ],
    schemas: [
      ...rule(writable, { owner: true }),
      ...rule(readable, { owner: false }),
      ...rule([SYSTEM], { owner: false }),
    ],
    tables: [
      ...rule(writable, { privileges: [...TABLE_PRIVILEGES] }),
      ...rule(readable, {
        privileges: ['SELECT' as const],
        ...(settings.readersMaintain ? {} : { filter: EVERY_ROW }),
      }),
      ...rule([SYSTEM], { schema: anyOf(FILTERED_SYSTEM_SCHEMAS), privileges: ['SELECT' as const] }),
    ],
    catalog_session_properties: rule([...writable, ...readable], { allow: true }),
  };
}
