import { marked } from '../../trino-rules/compile/marker-rules.js';
import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import {
  MARKER,
  QUERY_RIGHTS,
  READERS_FILTER,
  SYSTEM_INFORMATION_RIGHTS,
  type RulesDocument,
  type TableRule,
} from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { canBeImpersonated } from '../../trino-rules/model/acting.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { losingNames } from './losing-names.js';
import type { SnapshotPair } from './unexplained-change.js';
import { settingsOfBoth } from './withdrawal.js';

export interface ClosedRules {
  text: string;
  hash: string;
  document: RulesDocument;
}

/**
 * The published document with denials in front: whoever lost anything is shut out of everything, and what settings took is taken.
 * The engine applies the first rule that matches, so these remove access and never add any. The compiler decides nothing of it: its
 * parts write names and the marker.
 * @param ownAccount asks the engine which version is live; it is never shut out
 * @returns null: the check of the result failed
 */
export function closedRules(
  published: RulesDocument,
  { previous, explained }: SnapshotPair,
  ownAccount: string,
): ClosedRules | null {
  const names = [...losingNames(previous, explained)].filter((name) => name !== ownAccount).sort();
  const both = settingsOfBoth(previous.settings, explained.settings);
  const less = withoutNames(withoutSettings(withoutMarker(published), previous.settings, both), names);
  const { text, hash } = marked(ownAccount, less);
  const reading = readRules(text);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  if (compareAccess(published, document).gainedInAll > 0) return null;
  return areShutOut(document, names) ? { text, hash, document } : null;
}

/** Whether the rules leave these nothing, and let nobody act as them: asked of the denials, which are not proved otherwise. */
export function areShutOut(rules: RulesDocument, names: readonly string[]): boolean {
  const evaluator = new Evaluator(rules);
  const { first } = evaluator;
  return names.every((user) => {
    const catalogs = rules.catalogs.filter((rule) => first.matches(rule, { user }));
    const last = catalogs.findIndex(({ catalog }) => catalog === undefined);
    return (
      last >= 0 &&
      catalogs.slice(0, last + 1).every(({ allow }) => allow === 'none') &&
      QUERY_RIGHTS.every((right) => !evaluator.mayWithQueries(user, right)) &&
      SYSTEM_INFORMATION_RIGHTS.every((right) => !evaluator.mayWithSystemInformation(user, right)) &&
      !evaluator.maySetSystemSessionProperty(user, 'any property') &&
      !evaluator.mayImpersonate(user, 'anybody') &&
      (!canBeImpersonated(user) || !evaluator.mayImpersonate('anybody', user))
    );
  });
}

function withoutMarker({ system_session_properties: properties, ...document }: RulesDocument): RulesDocument {
  return { ...document, system_session_properties: properties.filter(({ property }) => !property?.startsWith(MARKER)) };
}

/** Every section is named, so that a new one does not compile before it is closed here, too. */
function withoutNames(rules: RulesDocument, names: readonly string[]): RulesDocument {
  if (names.length === 0) return rules;
  const user = anyOf(names);
  const viewers = names.filter(canBeImpersonated);
  return {
    catalogs: [{ user, allow: 'none' }, ...rules.catalogs],
    schemas: [{ user, owner: false }, ...rules.schemas],
    tables: [{ user, privileges: [] }, ...rules.tables],
    queries: [{ user, allow: [] }, ...rules.queries],
    impersonation: [
      { original_user: user, new_user: '.*', allow: false },
      ...(viewers.length === 0 ? [] : [{ new_user: anyOf(viewers), allow: false }]),
      ...rules.impersonation,
    ],
    functions: [{ user, privileges: [] }, ...rules.functions],
    procedures: [{ user, privileges: [] }, ...rules.procedures],
    system_information: [{ user, allow: [] }, ...rules.system_information],
    system_session_properties: [{ user, allow: false }, ...rules.system_session_properties],
    catalog_session_properties: [{ user, allow: false }, ...rules.catalog_session_properties],
  };
}

/** Catalogs that give service accounts less are closed to them, and one that became the service's own is to all. */
function withoutSettings(rules: RulesDocument, was: SnapshotSettings, both: SnapshotSettings): RulesDocument {
  const services = anyOf(was.serviceAccounts);
  const taken = <T>(given: readonly T[], left: readonly T[]): T[] => given.filter((each) => !left.includes(each));
  const catalogs = [
    ...taken(was.writableCatalogs, both.writableCatalogs),
    ...taken(was.readableCatalogs, both.readableCatalogs),
  ];
  const properties = taken(was.sessionProperties, both.sessionProperties);
  // Service accounts set every property.
  const others = rules.system_session_properties.findIndex(({ user, property }) => user !== services || property);
  const { metadataCatalog } = both;
  return {
    ...rules,
    catalogs: [
      ...(metadataCatalog === was.metadataCatalog || metadataCatalog === null
        ? []
        : [{ catalog: anyOf([metadataCatalog]), allow: 'none' as const }]),
      ...(catalogs.length === 0 ? [] : [{ user: services, catalog: anyOf(catalogs), allow: 'none' as const }]),
      ...rules.catalogs,
    ],
    tables: was.readersMaintain && !both.readersMaintain ? rules.tables.map(withoutTableProcedures) : rules.tables,
    impersonation:
      was.impersonation && !(both.impersonation && both.ownAccount === was.ownAccount)
        ? [{ original_user: anyOf([was.ownAccount]), new_user: '.*', allow: false }, ...rules.impersonation]
        : rules.impersonation,
    system_session_properties:
      properties.length === 0
        ? rules.system_session_properties
        : rules.system_session_properties.toSpliced(others < 0 ? Infinity : others, 0, {
            property: anyOf(properties),
            allow: false,
          }),
  };
}

/** Beside a filter, the engine refuses table procedures. */
function withoutTableProcedures(rule: TableRule): TableRule {
  const isReading = rule.privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
  const isOpen = rule.privileges.length > 0 && rule.filter === undefined && rule.catalog !== SYSTEM;
  return isReading && isOpen ? { ...rule, filter: READERS_FILTER } : rule;
}
