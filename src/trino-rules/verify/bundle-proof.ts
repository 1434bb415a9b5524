import { FRESH_PREFIX, unusedFreshName } from '../document/open-names.js';
import { OPERATIONS } from '../document/opa-operations.js';
import type { Finding } from '../document/finding.js';
import { MARKER_PREFIX } from '../document/rules-document.js';
import {
  type AccessFact,
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
} from '../engine/access-fact.js';
import { SchemaComparison } from '../engine/schema-comparison.js';
import {
  addAll,
  type Bitset,
  bitset,
  differences,
  allWordIndexes,
  isMember,
  membersOf,
  removeAll,
  wordAt,
} from '../engine/sparse-bitset.js';
import { type JudgedRules, verdictsOf, type FormerBreachTest } from '../answers/guarantee-verdicts.js';
import type { Guarantee } from '../model/guarantee.js';
import { isImpersonableName } from '../model/named-others.js';
import { isKillQuery, KILL_QUERY, namesOf, type Node, nodeOf, SYSTEM } from '../model/node.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';
import { concernsCatalogOf, restrictsReading } from '../model/restrictions.js';
import type { Snapshot } from '../model/snapshot.js';
import { entriesByNode, withOpenSchemas } from './access-entries.js';
import { findMalformedField } from './bundle-form.js';
import { fieldAt, fields, QUERY_RIGHTS, ROUTINE_RIGHTS, endTimesInBundle, expectedEndTimes } from './bundle-index.js';
import { BundleSets } from './bundle-sets.js';
import { ExpectedImpersonation, expectedEngineRights, ExpectedQueries, ExpectedRoutines } from './expected-rights.js';
import { ExpectedReach, ExpectedScope } from './expected-scope.js';
import { GuaranteeJudge, MAX_WITNESSES } from './guarantee-judge.js';
import { PrincipalIndex } from './principal-index.js';

const MAX_COUNTEREXAMPLES = 20;

/** A fact about the access that a bundle's data gives. The kinds `listing` and `files` exist only for bundles, not for rules documents. */
type BundleFact = AccessFact | { about: 'listing'; resource: Node } | { about: 'files'; catalog: string };

/**
 * Proves that the data of a bundle gives exactly the access of the snapshot, also after grants expire. Findings are errors.
 * @param text `data.json`
 */
export function checkBundle(text: string, snapshot: Snapshot): Finding[] {
  return judgeBundle(text, snapshot).findings;
}

/** Like `checkBundle`, but also returns verdicts on guarantees. The last two parameters are those of `judgeRules`. */
export function judgeBundle(
  text: string,
  snapshot: Snapshot,
  maxBreaches = MAX_WITNESSES,
  isFormerBreach: FormerBreachTest | null = null,
): JudgedRules {
  const withoutVerdicts = (...findings: Finding[]): JudgedRules => ({ findings, verdicts: [], breaches: new Map() });
  const undecidedResult = (message: string) => withoutVerdicts({ code: 'proof-undecided', severity: 'error', message });
  if (text.includes(FRESH_PREFIX))
    return undecidedResult('the data spells a name that stands for others, so that nothing is proved');
  let data: unknown;
  try {
    data = fieldAt(JSON.parse(text), 'access');
  } catch {
    return undecidedResult('the data of the bundle is no JSON');
  }
  const malformedField = findMalformedField(data);
  if (malformedField !== null)
    return undecidedResult(
      `the data has ${malformedField} in another form than the policy describes, so that nothing is proved`,
    );
  const differences = new BundleDifferences();
  differences.compareExpiries(endTimesInBundle(data), expectedEndTimes(snapshot));
  differences.compareSettings(data, snapshot);
  const proof = new BundleProof(data, snapshot, differences);
  const judge = snapshot.guarantees ? proof.createJudge(snapshot.guarantees, maxBreaches) : null;
  proof.prove();
  const lastExpiry = snapshot.grants.reduce((latest, { expiresAt }) => Math.max(latest, expiresAt?.getTime() ?? 0), 0);
  if (lastExpiry > snapshot.at.getTime())
    new BundleProof(data, { ...snapshot, at: new Date(lastExpiry) }, differences).prove();
  const { principals } = proof;
  const { findings, ...verdictFields } = judge
    ? verdictsOf(judge, null, snapshot, principals, isFormerBreach)
    : withoutVerdicts();
  return { ...verdictFields, findings: [...differences.findings(), ...findings] };
}

class BundleDifferences {
  private readonly messages: string[] = [];
  private differenceCount = 0;

  addDifference(message: string): void {
    if (this.differenceCount++ < MAX_COUNTEREXAMPLES) this.messages.push(message);
  }

  findings(): Finding[] {
    const omittedCount = this.differenceCount - this.messages.length;
    const omission = `${omittedCount} more differences between the data and the grants are not listed`;
    const messages = omittedCount > 0 ? [...this.messages, omission] : this.messages;
    return messages.map((message) => ({ code: 'proof-difference', severity: 'error', message }));
  }

  compareExpiries(bundleExpiries: ReadonlyMap<string, number>, grantExpiries: ReadonlyMap<string, number>): void {
    for (const key of new Set([...bundleExpiries.keys(), ...grantExpiries.keys()]))
      if (bundleExpiries.get(key) !== grantExpiries.get(key))
        this.addDifference(`the moment at which a right lapses differs from that of its grant: ${key}`);
  }

  compareSettings(data: unknown, { settings }: Snapshot): void {
    const { ownAccount: own, impersonation, readersMaintain } = settings;
    for (const [name, expected] of Object.entries({ own, impersonation, readersMaintain, operations: OPERATIONS }))
      if (sortedText(fieldAt(data, name)) !== sortedText(expected))
        this.addDifference(`the data has other ${name} than the settings`);
  }
}

function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    fields(item).length > 0 ? Object.fromEntries(fields(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

class BundleProof {
  readonly principals: PrincipalIndex;
  private readonly users: string[];
  private readonly bundle: BundleSets;
  private readonly wordCount: number;
  private readonly everyWordIndex: Uint32Array;
  private judge: GuaranteeJudge | null = null;
  /** The nodes that guarantees name. The proof compares access at these nodes even if there is no grant. */
  private readonly guaranteeNodes: readonly Node[];

  constructor(
    private readonly data: unknown,
    private readonly snapshot: Snapshot,
    private readonly differences: BundleDifferences,
  ) {
    this.principals = new PrincipalIndex(snapshot);
    this.guaranteeNodes = (snapshot.guarantees ?? []).flatMap(({ scopes }) => scopes.map(({ resource }) => resource));
    const names = this.principals.subjects.map(({ name }) => name);
    const knownNames = new Set(names);
    const nameFields = [...fields(fieldAt(data, 'users')), ...fields(fieldAt(data, 'services'))];
    const namesInData = new Set([...nameFields.map(([name]) => name), String(fieldAt(data, 'own'))]);
    const otherNames = [...namesInData].filter((name) => !knownNames.has(name));
    this.users = [...names, ...otherNames, unusedFreshName(new Set(otherNames))];
    this.wordCount = (this.users.length + 31) >>> 5;
    this.everyWordIndex = allWordIndexes(this.wordCount);
    this.bundle = new BundleSets(data, this.users, snapshot.at.getTime(), this.wordCount);
  }

  createJudge(guarantees: readonly Guarantee[], maxBreaches: number): GuaranteeJudge {
    const { principals, users, wordCount: wordsPerSet, snapshot } = this;
    const universe = {
      isRepresentative: (position: number) => position === users.length - 1,
      positionsOf: (name: string) => users.flatMap((each, position) => (each === name ? [position] : [])),
    };
    const positionsOf = principals.resolvePrincipal.bind(principals);
    const ownersOf = principals.resolveOwners.bind(principals);
    const resolver = { positionsOf, ownersOf, metadataCatalog: snapshot.settings.metadataCatalog };
    return (this.judge = new GuaranteeJudge(guarantees, { wordCount: wordsPerSet, universe }, resolver, maxBreaches));
  }

  prove(): void {
    const { snapshot, principals, wordCount: wordsPerSet, bundle } = this;
    const engine = { wordCount: wordsPerSet, spend: () => undefined };
    const routines = new ExpectedRoutines(snapshot, principals, wordsPerSet);
    const engineHolders = expectedEngineRights(snapshot, principals, wordsPerSet);
    const queries = new ExpectedQueries(snapshot, principals, engine, engineHolders);
    const entryTrees = entriesByNode(snapshot, principals);
    const rootScope = new ExpectedScope(this.newReach(), entryTrees.root);
    const usersWithAccess = bitset(wordsPerSet, principals.serviceAccounts);
    const { metadataCatalog, writableCatalogs, readableCatalogs } = snapshot.settings;
    const settingCatalogs = [metadataCatalog ?? SYSTEM, ...writableCatalogs, ...readableCatalogs];
    const routineCatalogs = [...routines.nodes, ...this.guaranteeNodes].flatMap((node) => node.catalog ?? []);
    const namedCatalogs = [...rootScope.childNames(), ...routineCatalogs, ...settingCatalogs];
    for (const catalog of new Set([...namedCatalogs, ...bundle.index.childNames(), FRESH_PREFIX])) {
      if (catalog === SYSTEM) continue;
      const reach = this.newReach();
      const scope =
        catalog === metadataCatalog ? new ExpectedScope(reach, undefined) : rootScope.catalogScope(catalog, reach);
      this.proveCatalog(catalog, scope, reach, routines);
      addAll(usersWithAccess, reach.usersWithAccess);
    }
    const systemGrantReach = this.newReach();
    const grantedSystemScope = new ExpectedScope(systemGrantReach, entryTrees.system);
    for (const name of grantedSystemScope.childNames()) {
      const schema = grantedSystemScope.childScope(name);
      for (const table of schema.childNames()) schema.accessAt(table, this.everyWordIndex);
    }
    addAll(usersWithAccess, systemGrantReach.usersWithAccess);
    for (const [privilege, users] of engineHolders)
      if (PRIVILEGE_TERMS[privilege].isUsedByStatements) addAll(usersWithAccess, users);
    const reach = this.newReach();
    const killQueryCallers = routines.killQueryCallers(queries.queryKillers());
    for (const users of [usersWithAccess, reach.usersWithAccess]) addAll(users, killQueryCallers);
    const openSystemScope = new ExpectedScope(reach, withOpenSchemas(entryTrees.system, membersOf(usersWithAccess)));
    this.proveCatalog(SYSTEM, openSystemScope, reach, routines, killQueryCallers);
    const killQueryFact = { about: 'routine', kind: 'procedure', resource: KILL_QUERY, privilege: 'EXECUTE' } as const;
    this.compare(killQueryFact, bundle.killQueryCallers(), killQueryCallers);
    this.compare({ about: 'queries', right: 'execute' }, bundle.queryExecutors, usersWithAccess);
    const systemReaders = engineHolders.get('READ_SYSTEM_INFORMATION') ?? null;
    this.compare({ about: 'system-information', right: 'read' }, bundle.rightHolders([''], 'R'), systemReaders);
    const systemWriters = engineHolders.get('WRITE_SYSTEM_INFORMATION') ?? null;
    this.compare({ about: 'system-information', right: 'write' }, bundle.rightHolders([''], 'W'), systemWriters);
    const isTargetName = (name: string): boolean => isImpersonableName(name, snapshot.settings);
    const impersonation = new ExpectedImpersonation(snapshot, principals, engine, isTargetName);
    this.proveRightsOverUsers(queries, impersonation, usersWithAccess);
    this.proveSessionProperties(usersWithAccess);
  }

  private newReach(): ExpectedReach {
    return new ExpectedReach(this.users.length, this.wordCount, true);
  }

  private proveCatalog(
    catalog: string,
    expectedScope: ExpectedScope,
    reach: ExpectedReach,
    routines: ExpectedRoutines,
    killQueryCallers: Bitset | null = null,
  ): void {
    const { bundle, wordCount: wordsPerSet, everyWordIndex } = this;
    let usersSeeing = bundle.union();
    const schemaComparison = new SchemaComparison(
      { wordCount: wordsPerSet, everyWordIndex, freshName: FRESH_PREFIX, spend: () => undefined },
      {
        compare: (fact, activeWords, actual, expected, comparedUsers) => {
          this.compare(fact, actual, expected, activeWords, comparedUsers ?? null);
        },
        usersToCompare: (actual, expected) => actual & expected,
        maskUsersToCompare: (restrictedUsers) => restrictedUsers,
        endUnnamedTables: (users) => {
          addAll(usersSeeing, users);
        },
        endTable: (activeWords, users) => {
          for (const index of activeWords) usersSeeing[index] = wordAt(usersSeeing, index) | wordAt(users, index);
        },
      },
    );
    const nodesInCatalog = [...routines.nodes, ...this.guaranteeNodes].filter((node) => node.catalog === catalog);
    const schemaNames = [...expectedScope.childNames(), ...nodesInCatalog.flatMap(({ schema }) => schema ?? [])];
    for (const schema of new Set([...schemaNames, ...bundle.index.childNames(catalog), FRESH_PREFIX])) {
      if (schema === 'information_schema') continue;
      usersSeeing = bundle.union();
      const scope = expectedScope.childScope(schema);
      schemaComparison.compare({ catalog, schema }, bundle.schemaAccess(catalog, schema), scope);
      addAll(usersSeeing, scope.owners);
      const routineNames = [
        ...nodesInCatalog.filter((node) => node.schema === schema).flatMap(({ routine }) => routine ?? []),
        ...bundle.index.routineNames(catalog, schema),
      ];
      for (const routine of new Set([...routineNames, FRESH_PREFIX]))
        addAll(usersSeeing, this.proveRoutine(catalog, schema, routine, routines));
      if (schema === 'runtime') addAll(usersSeeing, killQueryCallers);
      const actualUsers = bundle.usersSeeingSchema(catalog, schema);
      this.compare({ about: 'listing', resource: { catalog, schema } }, actualUsers, usersSeeing);
    }
    const { usersWithAccess } = reach;
    addAll(usersWithAccess, routines.usersWithRoutines(catalog));
    this.compare({ about: 'listing', resource: { catalog } }, bundle.usersSeeingCatalog(catalog), usersWithAccess);
    const restrictedUsers = bundle.union();
    for (const policy of this.snapshot.policies)
      if (restrictsReading(policy) && concernsCatalogOf({ catalog }, policy))
        addAll(restrictedUsers, bitset(wordsPerSet, this.principals.resolvePolicy(policy)));
    // Compares for whom `is_restricted_in` (policy.rego) holds. Users without access in the catalog are left out, because they are denied in any case.
    const actualUsers = bundle.usersRestrictedIn(catalog);
    this.compare({ about: 'files', catalog }, actualUsers, restrictedUsers, everyWordIndex, usersWithAccess);
  }

  /** Compares the rights over one routine. @returns users with any of these rights */
  private proveRoutine(catalog: string, schema: string, routine: string, routines: ExpectedRoutines): Bitset {
    const resource = nodeOf({ catalog, schema, routine });
    const holders = this.bundle.union();
    for (const [letter, right] of ROUTINE_RIGHTS) {
      const expected = routines.holders(right, resource);
      const actual = this.bundle.routineHolders(catalog, schema, routine, letter);
      if (!isKillQuery(resource)) this.compare({ about: 'routine', ...right, resource }, actual, expected);
      addAll(holders, expected);
    }
    return holders;
  }

  private proveRightsOverUsers(queries: ExpectedQueries, actingRights: ExpectedImpersonation, executors: Bitset): void {
    const { bundle, snapshot, principals, users } = this;
    const { impersonation, ownAccount } = snapshot.settings;
    const grantFields = fields(fieldAt(this.data, 'over', 'grants'));
    const asksOwners =
      queries.hasOwnerEntries ||
      this.guaranteeNodes.some((node) => node.queries !== undefined) ||
      grantFields.some(([, rightsByTarget]) => fields(rightsByTarget).some(([targetKey]) => targetKey !== ''));
    const checksImpersonation = asksOwners || snapshot.grants.some(({ resource }) => resource.as !== undefined);
    for (const [right, privilege, letter] of QUERY_RIGHTS) {
      if (!asksOwners)
        this.compare({ about: 'queries', right }, bundle.rightHolders([''], letter), queries.holders(privilege, []));
      for (const [position, owner] of asksOwners ? users.entries() : []) {
        const expected = queries.holders(privilege, position < principals.subjects.length ? [position] : []);
        const actual = bundle.rightHolders(['', ...bundle.index.ownerKeysOf(owner)], letter);
        for (const set of [expected, actual]) removeAll(set, bitset(this.wordCount, [position]));
        this.compare({ about: 'queries', right, owner }, actual, expected);
      }
    }
    const activePeople = new Set(principals.activePeople);
    for (const [position, name] of users.entries()) {
      const hasAccess = isMember(executors, position);
      const expected = bundle.union();
      if (impersonation && activePeople.has(position) && hasAccess && isImpersonableName(name, snapshot.settings))
        addAll(expected, bundle.usersNamed([ownAccount]));
      if (checksImpersonation) addAll(expected, actingRights.holders(position));
      const actual = bundle.impersonatorsOf(name);
      for (const set of [expected, actual]) removeAll(set, bitset(this.wordCount, [position]));
      this.compare({ about: 'impersonation', newUser: name }, actual, expected);
    }
  }

  private proveSessionProperties(usersWithAccess: Bitset): void {
    const { bundle, principals, snapshot, data } = this;
    const { sessionProperties, writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
    const serviceAccounts = bitset(this.wordCount, principals.serviceAccounts);
    const propertiesInData = fields(fieldAt(data, 'sessionProperties')).map(([name]) => name);
    for (const property of new Set([...sessionProperties, ...propertiesInData, FRESH_PREFIX])) {
      const isMarker = property.startsWith(MARKER_PREFIX);
      const actual = bundle.union();
      addAll(actual, isMarker ? null : bundle.serviceAccounts);
      if (propertiesInData.includes(property)) addAll(actual, bundle.queryExecutors);
      const expected = isMarker ? null : sessionProperties.includes(property) ? usersWithAccess : serviceAccounts;
      this.compare({ about: 'session-property', property, catalog: null }, actual, expected);
    }
    const serviceCatalogs = new Set(
      [...writableCatalogs, ...readableCatalogs].filter((catalog) => ![metadataCatalog, SYSTEM].includes(catalog)),
    );
    const catalogsInData = fields(fieldAt(data, 'served')).map(([catalog]) => catalog);
    for (const catalog of new Set([...serviceCatalogs, ...catalogsInData]))
      this.compare(
        { about: 'session-property', property: FRESH_PREFIX, catalog },
        catalogsInData.includes(catalog) ? bundle.serviceAccounts : null,
        serviceCatalogs.has(catalog) ? serviceAccounts : null,
      );
  }

  private compare(
    fact: BundleFact | (() => BundleFact),
    actual: Bitset | null,
    expected: Bitset | null,
    activeWords = this.everyWordIndex,
    comparedUsers: Bitset | null = null,
  ): void {
    const getFact = typeof fact === 'function' ? fact : () => fact;
    if (this.judge !== null && actual !== null) {
      const judgedFact = getFact();
      if (judgedFact.about !== 'listing' && judgedFact.about !== 'files')
        this.judge.addHolders(judgedFact, activeWords, actual);
    }
    for (const [index, positions] of differences(activeWords, actual, expected, comparedUsers).entries()) {
      const [first] = positions;
      if (first === undefined) continue;
      const othersText = positions.length > 1 ? ` (and ${positions.length - 1} more)` : '';
      const name = displayName(this.users[first] ?? '', 'a stranger') + othersText;
      this.differences.addDifference(differenceText(name, getFact(), index === 0));
    }
  }
}

function differenceText(name: string, fact: BundleFact, isInData: boolean): string {
  const contradiction = isInData ? 'but the data says so' : 'but the data does not say so';
  if (fact.about === 'listing') {
    const path = namesOf(fact.resource).map((each) => displayName(each, '(any other)'));
    return `${name} has ${isInData ? 'nothing' : 'something'} in ${path.join('.')}, ${isInData ? 'but the data shows it' : contradiction}`;
  }
  if (fact.about === 'files')
    return `${name} is ${isInData ? 'not ' : ''}restricted in the catalog ${displayName(fact.catalog, '(any other)')}, ${contradiction}`;
  if (!isRestriction(fact))
    return `${name} may ${isInData ? 'not ' : ''}${describePermission(fact)}, ${isInData ? 'but the data gives it' : contradiction}`;
  return isInData
    ? `by the data ${name} ${describeRestriction(fact)}, but no policy says so`
    : `${name} ${describeRestriction(fact)}, ${contradiction}`;
}
