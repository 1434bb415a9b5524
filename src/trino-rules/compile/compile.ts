import type { Finding } from '../document/finding.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { Snapshot } from '../model/snapshot.js';
import { actingRules } from './acting-rules.js';
import { catalogRules } from './catalog-rules.js';
import { compilerFindings } from './compiler-findings.js';
import { killingRules, queryRules, systemInformationRules } from './engine-rights.js';
import { isReplacementSafe } from './engine-terms.js';
import { intentSets, type IntentSets } from './intent-sets.js';
import { marked } from './marker-rules.js';
import { anyOf } from './name-pattern.js';
import { functionRules, procedureRules } from './routine-rules.js';
import { schemaRules } from './schema-rules.js';
import { serviceAccountRules } from './service-account-rules.js';
import { SiblingRules } from './sibling-rules.js';
import { tableRules } from './table-rules.js';
import { type RulesUnderParent, TextSize } from './text-size.js';

export interface CompiledRules {
  document: RulesDocument;
  /** The canonical text of the document: equal snapshots give equal bytes. */
  text: string;
  /** SHA-256 over the text without the marker rule: 64 hexadecimal digits. */
  hash: string;
  findings: Finding[];
  /** Where most table rules are. */
  largest: RulesUnderParent;
}

/**
 * Turns what a snapshot means into the engine's rules: pure and deterministic, every section present and closed by default.
 * The engine takes the first rule that matches in a section, so the service accounts' rules come first, then the narrowest.
 * @param maxBytes what the target holds
 * @throws RulesTooLarge as soon as the text would certainly be longer
 */
export function compile(snapshot: Snapshot, maxBytes = Infinity): CompiledRules {
  const intent = intentSets(snapshot);
  const size = new TextSize(maxBytes);
  const unmarked = unmarkedDocument(snapshot, intent, size);
  const findings = compilerFindings(snapshot, intent);
  return { ...marked(snapshot.settings.ownAccount, unmarked), findings, largest: size.largest };
}

function unmarkedDocument({ settings }: Snapshot, intent: IntentSets, size: TextSize): RulesDocument {
  const accounts = serviceAccountRules(settings);
  const write = new SiblingRules(intent);
  const { activePeople, serviceAccounts, namesOf } = intent.principals;
  // The service accounts' own rule has decided for them before.
  const others = intent.reachesSomething.minus(serviceAccounts);
  const people = namesOf(intent.reachesSomething.and(activePeople));
  const impersonated = settings.impersonation ? people.filter(isReplacementSafe) : [];
  return {
    // The engine opens `system` to all users after the last catalog rule, unless an earlier rule of ours matches.
    catalogs: [...accounts.catalogs, ...catalogRules(intent, write), { allow: 'none' }],
    schemas: [...accounts.schemas, ...schemaRules(intent, write)],
    tables: [...accounts.tables, ...tableRules(intent, write, size)],
    queries: queryRules(intent.reachesSomething, intent.engine, intent.principals),
    impersonation: [
      ...(impersonated.length > 0
        ? [{ original_user: anyOf([settings.ownAccount]), new_user: anyOf(impersonated), allow: true }]
        : []),
      ...actingRules(intent.acting, intent.principals),
    ],
    // Built-in functions need no rule (seen on 483).
    functions: functionRules(intent, write),
    procedures: [...killingRules(intent.engine, intent.principals), ...procedureRules(intent, write)],
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
