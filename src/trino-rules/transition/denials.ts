import { patternOfNames } from '../compile/name-pattern.js';
import { withMarker } from '../compile/rules-text.js';
import { compareAccess } from '../diff/access-change.js';
import {
  QUERY_RIGHTS,
  READERS_FILTER,
  type RulesDocument,
  SYSTEM_INFORMATION_RIGHTS,
  type TableRule,
  withoutMarker,
} from '../document/rules-document.js';
import { readRules } from '../document/rules-reader.js';
import { Evaluator } from '../engine/evaluator.js';
import { isReplacementSafe } from '../model/named-others.js';
import { SYSTEM } from '../model/node.js';
import type { SnapshotSettings } from '../model/snapshot.js';

export interface DenyingRules {
  text: string;
  hash: string;
  document: RulesDocument;
}

interface Losses {
  names: readonly string[];
  previous: SnapshotSettings;
  remaining: SnapshotSettings;
}

/**
 * Takes all access from `losses.names`, and from everybody the access that only the former settings gave. Edits the published rules, because
 * compiling may have failed.
 * @returns null: the result is invalid, gives new access, or leaves `losses.names` some access
 */
export function withDenials(publishedRules: RulesDocument, losses: Losses, ownAccount: string): DenyingRules | null {
  const closedRules = denyUsers(denyByFormerSettings(withoutMarker(publishedRules), losses), losses.names);
  const { text, hash } = withMarker(ownAccount, closedRules);
  const reading = readRules(text);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  if (compareAccess(publishedRules, document).gainedInAll > 0) return null;
  return areShutOut(document, losses.names) ? { text, hash, document } : null;
}

/** Whether the rules give these users no access and let nobody impersonate them. The proof does not check denials, so this function does. */
export function areShutOut(rules: RulesDocument, names: readonly string[]): boolean {
  const evaluator = new Evaluator(rules);
  const { firstMatch } = evaluator;
  return names.every((user) => {
    const matchingRules = rules.catalogs.filter((rule) => firstMatch.matches(rule, { user }));
    const anyCatalogIndex = matchingRules.findIndex(({ catalog }) => catalog === undefined);
    return (
      anyCatalogIndex >= 0 &&
      matchingRules.slice(0, anyCatalogIndex + 1).every(({ allow }) => allow === 'none') &&
      QUERY_RIGHTS.every((right) => !evaluator.hasQueryRight(user, right)) &&
      SYSTEM_INFORMATION_RIGHTS.every((right) => !evaluator.hasSystemInformationRight(user, right)) &&
      !evaluator.maySetSystemSessionProperty(user, 'any property') &&
      !evaluator.mayImpersonate(user, 'anybody') &&
      (!isReplacementSafe(user) || !evaluator.mayImpersonate('anybody', user))
    );
  });
}

/** Adds denials for users. Every section is written out, so that a new section does not compile until it is handled here. */
function denyUsers(rules: RulesDocument, names: readonly string[]): RulesDocument {
  if (names.length === 0) return rules;
  const user = patternOfNames(names);
  const impersonableNames = names.filter(isReplacementSafe);
  return {
    catalogs: [{ user, allow: 'none' }, ...rules.catalogs],
    schemas: [{ user, owner: false }, ...rules.schemas],
    tables: [{ user, privileges: [] }, ...rules.tables],
    queries: [{ user, allow: [] }, ...rules.queries],
    impersonation: [
      { original_user: user, new_user: '.*', allow: false },
      ...(impersonableNames.length === 0 ? [] : [{ new_user: patternOfNames(impersonableNames), allow: false }]),
      ...rules.impersonation,
    ],
    functions: [{ user, privileges: [] }, ...rules.functions],
    procedures: [{ user, privileges: [] }, ...rules.procedures],
    system_information: [{ user, allow: [] }, ...rules.system_information],
    system_session_properties: [{ user, allow: false }, ...rules.system_session_properties],
    catalog_session_properties: [{ user, allow: false }, ...rules.catalog_session_properties],
  };
}

/** Adds denials of the access that follows from the settings `previous`, but not from the settings `remaining`. */
function denyByFormerSettings(rules: RulesDocument, { previous, remaining }: Losses): RulesDocument {
  const serviceUser = patternOfNames(previous.serviceAccounts);
  const lostNames = (key: 'writableCatalogs' | 'readableCatalogs' | 'sessionProperties'): string[] =>
    previous[key].filter((name) => !remaining[key].includes(name));
  const lostCatalogs = [...lostNames('writableCatalogs'), ...lostNames('readableCatalogs')];
  const lostProperties = lostNames('sessionProperties');
  // The denial comes after the rule that lets service accounts set every property, so that service accounts keep this right.
  const insertAt = rules.system_session_properties.findIndex(({ user, property }) => user !== serviceUser || property);
  const { metadataCatalog } = remaining;
  return {
    ...rules,
    catalogs: [
      ...(metadataCatalog === previous.metadataCatalog || metadataCatalog === null
        ? []
        : [{ catalog: patternOfNames([metadataCatalog]), allow: 'none' as const }]),
      ...(lostCatalogs.length === 0
        ? []
        : [{ user: serviceUser, catalog: patternOfNames(lostCatalogs), allow: 'none' as const }]),
      ...rules.catalogs,
    ],
    tables:
      previous.readersMaintain && !remaining.readersMaintain ? rules.tables.map(withoutTableProcedures) : rules.tables,
    impersonation:
      previous.impersonation && !(remaining.impersonation && remaining.ownAccount === previous.ownAccount)
        ? [
            { original_user: patternOfNames([previous.ownAccount]), new_user: '.*', allow: false },
            ...rules.impersonation,
          ]
        : rules.impersonation,
    system_session_properties:
      lostProperties.length === 0
        ? rules.system_session_properties
        : rules.system_session_properties.toSpliced(insertAt < 0 ? Infinity : insertAt, 0, {
            property: patternOfNames(lostProperties),
            allow: false,
          }),
  };
}

/** Adds a filter to a rule that only allows reading, because the engine refuses table procedures to users with a filter. */
function withoutTableProcedures(rule: TableRule): TableRule {
  const onlyReads = rule.privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
  const isUnfiltered = rule.privileges.length > 0 && rule.filter === undefined && rule.catalog !== SYSTEM;
  return onlyReads && isUnfiltered ? { ...rule, filter: READERS_FILTER } : rule;
}
