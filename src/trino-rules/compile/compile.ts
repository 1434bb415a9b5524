import type { Finding } from '../document/finding.js';
import type { CatalogRule, RulesDocument, TableRule } from '../document/rules-document.js';
import type { Snapshot, SnapshotSettings } from '../model/snapshot.js';
import { impersonationRules, killProcedureRules, queryRules, systemInformationRules } from './engine-rights.js';
import type { UsersByMode } from './node-access.js';
import { compilerFindings } from './compiler-findings.js';
import { FILTERED_SYSTEM_SCHEMAS, isReplacementSafe, SYSTEM, TABLE_PRIVILEGES } from './engine-terms.js';
import { intentSets, type IntentSets } from './intent-sets.js';
import { withMarker } from './rules-text.js';
import { patternOfNames } from './name-pattern.js';
import { denialUsers, type Sibling } from './rectangles.js';
import { routineRules, schemaRules } from './right-rules.js';
import { SiblingRuleWriter } from './sibling-rules.js';
import { type RulesUnderParent, tableRules } from './table-rules.js';
import { EVERY_ROW } from './access-state.js';

export interface CompiledRules {
  document: RulesDocument;
  /** The document as text. Equal snapshots give equal bytes. */
  text: string;
  /** SHA-256 over the text without the marker rule: 64 hexadecimal digits. */
  hash: string;
  findings: Finding[];
  parentWithMostRules: RulesUnderParent;
}

/**
 * Compiles a snapshot into the engine's rules: pure and deterministic, with every section present and denying by default. The first
 * matching rule of a section decides, so rules of service accounts come first, then rules for single tables, schemas, catalogs.
 * @param maxBytes capacity of the target
 * @throws RulesTooLarge as soon as the table rules exceed the capacity
 */
export function compile(snapshot: Snapshot, maxBytes = Infinity): CompiledRules {
  const intent = intentSets(snapshot);
  const writer = new SiblingRuleWriter(intent);
  const { rules: tables, parentWithMostRules: largestParent } = tableRules(intent, writer, maxBytes);
  const unmarkedRules = unmarkedDocument(snapshot, intent, writer, tables);
  const findings = compilerFindings(snapshot, intent);
  return { ...withMarker(snapshot.settings.ownAccount, unmarkedRules), findings, parentWithMostRules: largestParent };
}

function unmarkedDocument(
  { settings }: Snapshot,
  intent: IntentSets,
  writer: SiblingRuleWriter,
  tables: readonly TableRule[],
): RulesDocument {
  const accountRules = serviceAccountRules(settings);
  const { activePeople, serviceAccounts, namesOf } = intent.principals;
  // Service accounts are left out, because an earlier rule decides for them.
  const users = intent.usersWithAccess.minus(serviceAccounts);
  const peopleNames = namesOf(intent.usersWithAccess.and(activePeople));
  const impersonatedNames = settings.impersonation ? peopleNames.filter(isReplacementSafe) : [];
  return {
    // The engine appends a catalog rule that lets all users into `system`. The last rule here precedes that rule and denies all catalogs.
    catalogs: [...accountRules.catalogs, ...catalogRules(intent, writer), { allow: 'none' }],
    schemas: [...accountRules.schemas, ...schemaRules(intent, writer)],
    tables: [...accountRules.tables, ...tables],
    queries: queryRules(intent.usersWithAccess, intent.engine, intent.principals),
    impersonation: [
      ...(impersonatedNames.length > 0
        ? [
            {
              original_user: patternOfNames([settings.ownAccount]),
              new_user: patternOfNames(impersonatedNames),
              allow: true,
            },
          ]
        : []),
      ...impersonationRules(intent.impersonation, intent.principals),
    ],
    // Built-in functions need no rule (seen on 483).
    functions: routineRules('function', intent, writer),
    procedures: [...killProcedureRules(intent.engine, intent.principals), ...routineRules('procedure', intent, writer)],
    system_information: systemInformationRules(intent.engine, intent.principals),
    system_session_properties: [
      { user: patternOfNames(settings.serviceAccounts), allow: true },
      ...(settings.sessionProperties.length > 0 && !users.isEmpty()
        ? [{ user: patternOfNames(namesOf(users)), property: patternOfNames(settings.sessionProperties), allow: true }]
        : []),
    ],
    catalog_session_properties: accountRules.catalog_session_properties,
  };
}

/** Catalog rules. Users with any access in a catalog get the narrowest mode that is enough. Rules that name catalogs come first. */
function catalogRules(intent: IntentSets, writer: SiblingRuleWriter): CatalogRule[] {
  const { emptySet, serviceAccounts } = intent.principals;
  const nobody = { all: emptySet, readOnly: emptySet };
  const siblings = [...intent.root.children()].map(({ name }) =>
    // Users to whom the last rule (for all catalogs) gives the same access need no rule, except in `system`.
    sibling(name, intent.usersByModeIn(name), name === SYSTEM ? nobody : intent.defaultModes),
  );
  const systemSiblings = siblings.filter(({ name }) => name === SYSTEM);
  const otherSiblings = siblings.filter(({ name }) => name !== SYSTEM);
  return [
    ...writer.rules(otherSiblings, 'catalog', {}),
    ...writer.rules(systemSiblings, 'catalog', {}),
    ...writer.rules([sibling('', intent.defaultModes, nobody)], 'everything', {}),
  ];

  /** A catalog, with the users who need a rule for it. @param modes its users @param broaderModes the users of the rule for all catalogs */
  function sibling(name: string, modes: UsersByMode, broaderModes: UsersByMode): Sibling<Pick<CatalogRule, 'allow'>> {
    const all = modes.all.minus(serviceAccounts);
    const readOnly = modes.readOnly.minus(serviceAccounts);
    const newReaders = readOnly.minus(broaderModes.readOnly);
    const holders = all.or(readOnly);
    const lockedOutUsers = intent.defaultModes.all.or(intent.defaultModes.readOnly).minus(holders);
    const effectUsers = [
      { effect: { allow: 'all' }, rank: 2, requiredUsers: all.minus(broaderModes.all), allowedUsers: all },
      { effect: { allow: 'read-only' }, rank: 1, requiredUsers: newReaders, allowedUsers: readOnly },
      denialUsers({ allow: 'none' } as const, lockedOutUsers),
    ] as const;
    return { name, effectUsers, holders };
  }
}

type ServiceAccountRules = Pick<RulesDocument, 'catalogs' | 'schemas' | 'tables' | 'catalog_session_properties'>;

/** Rules for the service accounts, by the settings. Each section names these accounts, because the engine denies what no rule allows. */
export function serviceAccountRules(settings: SnapshotSettings): ServiceAccountRules {
  const user = patternOfNames(settings.serviceAccounts);
  const isOpenCatalog = (catalog: string) => catalog !== settings.metadataCatalog && catalog !== SYSTEM;
  const writableCatalogs = settings.writableCatalogs.filter(isOpenCatalog);
  const openCatalogs = settings.readableCatalogs.filter(isOpenCatalog);
  const readableCatalogs = openCatalogs.filter((catalog) => !writableCatalogs.includes(catalog));
  const rulesFor = <T extends object>(catalogs: string[], effect: T) =>
    catalogs.length > 0 ? [{ user, catalog: patternOfNames(catalogs), ...effect }] : [];
  return {
    catalogs: [
      ...rulesFor(writableCatalogs, { allow: 'all' } as const),
      ...rulesFor(readableCatalogs, { allow: 'read-only' } as const),
      ...rulesFor([SYSTEM], { allow: 'read-only' } as const),
    ],
    schemas: [
      ...rulesFor(writableCatalogs, { owner: true }),
      ...rulesFor(readableCatalogs, { owner: false }),
      ...rulesFor([SYSTEM], { owner: false }),
    ],
    tables: [
      ...rulesFor(writableCatalogs, { privileges: [...TABLE_PRIVILEGES] }),
      ...rulesFor(readableCatalogs, {
        privileges: ['SELECT' as const],
        ...(settings.readersMaintain ? {} : { filter: EVERY_ROW }),
      }),
      ...rulesFor([SYSTEM], { schema: patternOfNames(FILTERED_SYSTEM_SCHEMAS), privileges: ['SELECT' as const] }),
    ],
    catalog_session_properties: rulesFor([...writableCatalogs, ...readableCatalogs], { allow: true }),
  };
}
