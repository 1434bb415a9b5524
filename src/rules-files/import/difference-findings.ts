import { getOrInsert } from '../../kernel/collections.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { isRestricting } from '../check/loopholes.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { isKillQuery, SYSTEM, type Node, mapNames } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { READERS_FILTER } from '../../trino-rules/document/rules-document.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { unmarkRepresentative, renameFact, type AccessFact } from '../../trino-rules/engine/access-fact.js';
import { decidingRule, type RuleLocation } from '../../trino-rules/engine/deciding-rule.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { ListedUser } from '../foreign/audiences.js';
import { importFinding, type ImportCode, type ImportFinding, lossLines, propertiesText } from './import-finding.js';
import type { Joiner } from './joiners.js';
import type { ListedRules } from './file-findings.js';
import { tablesOfSystem } from './system-tables.js';

/** Turns differences of access into findings. Differences with the same rule, users and reason become one finding. */
export class DifferenceFindings {
  private readonly ruleSetIdByUser = new Map<string, number>();
  private readonly ruleSetIds = new Map<string, number>();

  constructor(
    private readonly rulesFile: { rules: ForeignRules; at: number },
    private readonly listedRules: ListedRules,
    private readonly evaluator: Evaluator,
    private readonly patterns: PatternCache,
    private readonly listedUsers: readonly ListedUser[],
  ) {}

  /** @param isListed whether the import replaced patterns by lists of names */
  lostFindings(differences: readonly AccessDifference[], { grants }: Snapshot, isListed: boolean): ImportFinding[] {
    const impersonatorsOfAll = new Set(
      grants.flatMap(({ principal, resource: { as } }) =>
        principal.type === 'engine' && as?.type === 'everyone' ? [principal.name] : [],
      ),
    );
    const names = new Set(this.listedUsers.map(({ name }) => name));
    const codeOf = ({ fact, people }: AccessDifference): ImportCode => {
      if (fact.about === 'session-property') return 'import-session-properties';
      if (isUnusedSystemRight(fact)) return 'import-system';
      if (this.loopholeOf(fact, people[0] ?? '') !== null) return 'import-doors';
      if (fact.about === 'catalog-mode') return 'import-entry';
      if (fact.about === 'queries' && fact.owner !== undefined && !names.has(fact.owner)) return 'import-unlisted';
      if (fact.about === 'impersonation' && !names.has(fact.newUser) && people.every((name) => this.isEngineName(name)))
        return people.every((name) => impersonatorsOfAll.has(name)) ? 'import-strangers' : 'import-unlisted';
      return isListed && isAboutUnnamedData(fact) ? 'import-pattern-resolved' : 'import-lost';
    };
    const differencesByCode = new Map<ImportCode, AccessDifference[]>();
    for (const each of this.splitByRule(differences)) getOrInsert(differencesByCode, codeOf(each), () => []).push(each);
    const lossesOf = (code: ImportCode): AccessDifference[] => differencesByCode.get(code) ?? [];
    return [
      ...this.findings('import-lost', lossesOf('import-lost'), (fact, user) => this.reasonOf(fact, user)),
      ...this.findings('import-pattern-resolved', lossesOf('import-pattern-resolved'), () => PATTERN_REASON),
      ...this.findings('import-strangers', lossesOf('import-strangers'), () => STRANGERS_REASON),
      ...this.findings('import-unlisted', lossesOf('import-unlisted'), () => UNLISTED_REASON),
      ...this.findings('import-entry', lossesOf('import-entry'), () => ENTRY_REASON),
      ...LOOPHOLES.flatMap((loophole) => {
        const opensIt = ({ fact, people }: AccessDifference) => this.loopholeOf(fact, people[0] ?? '') === loophole;
        const loopholeDifferences = lossesOf('import-doors').filter(opensIt);
        return this.summaryFinding('import-doors', loopholeDifferences, loophole, LOOPHOLES_REASON);
      }),
      ...this.propertyFindings('import-session-properties', lossesOf('import-session-properties')),
      ...this.summaryFinding(
        'import-system',
        lossesOf('import-system'),
        'write to, own and share what is in system',
        SYSTEM_REASON,
      ),
    ];
  }

  propertyFindings(code: ImportCode, differences: readonly AccessDifference[]): ImportFinding[] {
    return this.summaryFinding(code, differences, propertiesText(differences), SETTING_REASON);
  }

  /**
   * Findings about access that new members of a group (`Joiner`) would get from the file, but not from the import.
   * @param lostAccess access that joiners and listed users lose
   */
  joinerFindings(lostAccess: readonly AccessDifference[], joiners: readonly Joiner[]): ImportFinding[] {
    const joinersByName = new Map(joiners.map((joiner) => [joiner.name, joiner]));
    /** Whether the user `otherName` has all groups of the user `name` and further groups, so that a finding about `otherName` is redundant. */
    const isSubset = (name: string, otherName: string): boolean => {
      const [groups = [], otherGroups = []] = [name, otherName].map((each) => joinersByName.get(each)?.groups);
      return groups.length < otherGroups.length && groups.every((group) => otherGroups.includes(group));
    };
    const findingsOf = (code: 'import-joiners' | 'import-combinations', why: string): ImportFinding[] => {
      const joinerLosses = lostAccess.filter(canDependOnGroups).flatMap((difference) => {
        const losingUsers = new Set(difference.people);
        const isLostByListed = difference.people.some((name) => !joinersByName.has(name));
        const isLostByGroup = (group: string): boolean =>
          difference.people.some((name) => joinersByName.get(name)?.groups.join('\0') === group);
        const people = difference.people.filter((name) => {
          const joiner = joinersByName.get(name);
          if (joiner === undefined || joiner.realName !== undefined) return false;
          if ((joiner.isUnlisted === true) !== (code === 'import-combinations')) return false;
          if (joiner.isUnlisted && joiner.groups.some(isLostByGroup)) return false;
          return joiner.sameGroupUsers.length === 0
            ? !isLostByListed
            : !joiner.sameGroupUsers.some((each) => losingUsers.has(each));
        });
        if (people.length === 0) return [];
        if (code === 'import-joiners') return [{ ...difference, people }];
        return [{ ...difference, people: people.filter((name) => !people.some((other) => isSubset(other, name))) }];
      });
      return this.findingsAtRules(code, joinerLosses, why).map((finding) => {
        const hypotheticalUsers = finding.people.flatMap((name) => joinersByName.get(name) ?? []);
        const combinationTexts = hypotheticalUsers.map(({ groups }) =>
          groups.length === 0 ? 'no group' : groups.join(' and '),
        );
        const people = [...new Set(hypotheticalUsers.flatMap(({ sameGroupUsers }) => sameGroupUsers))].sort();
        const omittedCount = combinationTexts.splice(MAX_SHOWN_COMBINATIONS).length;
        const joinersText = `who joins ${[...combinationTexts, ...(omittedCount > 0 ? [`${omittedCount} more`] : [])].join(', or ')}`;
        return { ...finding, people, what: finding.what.map((each) => `${joinersText}: ${each}`) };
      });
    };
    return [...findingsOf('import-joiners', JOINERS_REASON), ...findingsOf('import-combinations', COMBINATIONS_REASON)];
  }

  /** Findings about access that the file gives to a group and the import gives to single users. These users keep the access when they leave the group. */
  leaverFindings(keptDifferences: readonly AccessDifference[], joiners: readonly Joiner[]): ImportFinding[] {
    const realNameByName = new Map(joiners.map(({ name, realName = name }) => [name, realName]));
    return this.findingsAtRules('import-leavers', keptDifferences.filter(canDependOnGroups), LEAVERS_REASON).map(
      (finding) => ({
        ...finding,
        people: [...new Set(finding.people.map((name) => realNameByName.get(name) ?? name))].sort(),
      }),
    );
  }

  /** The differences that change what a statement may do. */
  differencesWithEffect(differences: readonly AccessDifference[], importedEvaluator: Evaluator): AccessDifference[] {
    return differences.filter(({ fact, people }) => {
      // The catalog mode `all`, and entry to the catalog `system`, give nothing without privileges.
      if (fact.about === 'catalog-mode') return fact.mode !== 'all' && fact.resource.catalog !== SYSTEM;
      if (fact.about !== 'privilege' || fact.privilege !== 'SELECT' || fact.resource.catalog !== SYSTEM) return true;
      const { schema = '', table = '' } = fact.resource;
      const [systemTables, evaluators] = [tablesOfSystem(schema), [this.evaluator, importedEvaluator] as const];
      const mayRead = (name: string, user: string): boolean[] =>
        evaluators.map((each) => each.hasTablePrivilege(user, 'SELECT', { catalog: SYSTEM, schema, table: name }));
      const losesReader = (name: string): boolean => people.some((user) => mayRead(name, user).join() === 'true,false');
      return systemTables.includes(table) || (isFreshName(table) && systemTables.some(losesReader));
    });
  }

  /** The loophole (a way around restrictions, docs/limits.md) that gives a user this access; null: no loophole gives the access. */
  private loopholeOf(fact: AccessFact, user: string): Loophole | null {
    if (fact.about === 'table-procedures') return PROCEDURES_LOOPHOLE;
    if (fact.about === 'hidden-column') return STORAGE_COLUMNS.includes(fact.column) ? STORAGE_LOOPHOLE : null;
    if (fact.about !== 'privilege') return null;
    const [baseName = '', companionSuffix] = fact.resource.table?.split(`$${FRESH_PREFIX}`) ?? [];
    const baseRule = this.sourceRuleFor({ ...fact, resource: { ...fact.resource, table: baseName } }, user);
    if (companionSuffix !== undefined && baseRule !== null && isRestricting(baseRule)) return COMPANIONS_LOOPHOLE;
    if (!WRITE_PRIVILEGES.includes(fact.privilege)) return null;
    const rule = this.listedRules.document.tables[this.decidingRuleFor(fact, user)?.index ?? -1];
    if (rule === undefined || this.listedRules.problemOf(rule) !== null) return null;
    if (rule.columns?.some(({ mask }) => mask !== undefined) === true) return WRITING_LOOPHOLE;
    const isFiltered = rule.filter !== undefined && rule.filter !== READERS_FILTER;
    return isFiltered && fact.privilege !== 'INSERT' ? WRITING_LOOPHOLE : null;
  }

  private summaryFinding(
    code: ImportCode,
    differences: readonly AccessDifference[],
    accessText: string,
    why: string,
  ): ImportFinding[] {
    const places = differences.map(({ fact, people }) => this.placeOf(fact, people[0] ?? ''));
    const [firstPlace] = places.sort((a, b) => a.at - b.at);
    const people = new Set(differences.flatMap((each) => each.people));
    return firstPlace === undefined ? [] : [importFinding(code, [...people].sort(), [accessText], why, firstPlace)];
  }

  private findingsAtRules(code: ImportCode, differences: readonly AccessDifference[], why: string): ImportFinding[] {
    return this.findings(code, this.splitByRule(differences), () => why);
  }

  private findings(
    code: ImportCode,
    differences: readonly AccessDifference[],
    reason: (fact: AccessFact, user: string) => string,
  ): ImportFinding[] {
    const findingsByKey = new Map<string, { differences: AccessDifference[]; finding: ImportFinding }>();
    for (const difference of differences) {
      const { fact, people } = difference;
      const user = people[0] ?? '';
      const [why, place] = [reason(fact, user), this.placeOf(fact, user)];
      const key = JSON.stringify([people, why, place]);
      getOrInsert(findingsByKey, key, () => ({
        differences: [],
        finding: importFinding(code, people, [], why, place),
      })).differences.push(difference);
    }
    return [...findingsByKey.values()].map((each) => ({ ...each.finding, what: lossLines(each.differences) }));
  }

  private splitByRule(differences: readonly AccessDifference[]): AccessDifference[] {
    return differences.flatMap((difference) => {
      const peopleByPlace = new Map<string, string[]>();
      const placeByRuleClass = new Map<number, string>();
      for (const user of difference.people) {
        const key = getOrInsert(placeByRuleClass, this.ruleSetIdOf(user), () => {
          const { rule, at } = this.placeOf(difference.fact, user);
          return `${rule ?? ''} ${at} ${this.loopholeOf(difference.fact, user) ?? ''}`;
        });
        getOrInsert(peopleByPlace, key, () => []).push(user);
      }
      return [...peopleByPlace.values()].map((names) => ({ ...difference, people: names }));
    });
  }

  /** A number that is the same for users whom the same rules match. */
  private ruleSetIdOf(user: string): number {
    return getOrInsert(this.ruleSetIdByUser, user, () => {
      const { impersonation, ...sections } = this.listedRules.document;
      const impersonationRules = impersonation.map(({ original_user: user }) => (user === undefined ? {} : { user }));
      const rules = [...Object.values<readonly { user?: string }[]>(sections).flat(), ...impersonationRules];
      const matchingRules = rules.flatMap((rule, index) => (this.patterns.matches(rule.user, user) ? [index] : []));
      return getOrInsert(this.ruleSetIds, matchingRules.join(), () => this.ruleSetIds.size);
    });
  }

  private placeOf(fact: AccessFact, user: string): Pick<ImportFinding, 'rule' | 'at'> {
    const rule = this.sourceRuleFor(fact, user);
    return { rule: rule?.place ?? null, at: rule?.at ?? this.rulesFile.at };
  }

  /** The rule of the file that decides; null: none, or an absent section. */
  private sourceRuleFor(fact: AccessFact, user: string): ForeignRule | null {
    const location = this.decidingRuleFor(fact, user);
    return location && this.listedRules.sourceOf(this.listedRules.document[location.section][location.index] ?? {});
  }

  private decidingRuleFor(fact: AccessFact, user: string): RuleLocation | null {
    return decidingRule(this.evaluator, renameFact(fact, unmarkRepresentative, unmarkRepresentative), user);
  }

  private reasonOf(fact: AccessFact, user: string): string {
    const location = this.decidingRuleFor(fact, user);
    const isSectionAbsent = location !== null && !this.rulesFile.rules.has(location.section);
    const absenceNote = isSectionAbsent ? `without a section "${location.section}" everybody has it, but ` : '';
    if (fact.about === 'impersonation')
      return this.isEngineName(user)
        ? 'nobody acts as strangers, service accounts and those who act as others themselves'
        : 'people do not act as others; the list marks a program with engine: before its name';
    const rule = location?.section === 'tables' ? this.listedRules.document.tables[location.index] : undefined;
    const problem = rule === undefined ? null : this.listedRules.problemOf(rule);
    return absenceNote + (problem ?? this.grantLimitReason(fact, user));
  }

  private isEngineName(user: string): boolean {
    return this.listedUsers.some(({ name, isEngine }) => name === user && isEngine === true);
  }

  private grantLimitReason(fact: AccessFact, user: string): string {
    if (!('resource' in fact)) return 'no grant says it';
    const { catalog, schema, table } = fact.resource;
    if (fact.about === 'routine') {
      if (fact.privilege === 'OWNERSHIP') return 'nobody owns functions';
      return [catalog, schema, fact.resource.routine].some(isFreshName) ? ROUTINE_PATTERN_REASON : ROUTINE_REASON;
    }
    if (catalog === SYSTEM) return SYSTEM_TABLES_REASON;
    if (isFreshName(catalog))
      return `a grant on everything would also reach catalogs that other rules decide; ${LISTING_ADVICE}`;
    const isOwnership =
      fact.about === 'schema-ownership' || (fact.about === 'privilege' && fact.privilege === 'OWNERSHIP');
    if (isOwnership && this.isRestricted(fact.resource, user))
      return 'a filter, a mask, a hidden column or a deny wins over ownership of what it is on, and of the schema';
    if (isFreshName(schema) || isFreshName(table))
      return `a grant above would also reach names that other rules decide; ${LISTING_ADVICE}`;
    return 'what is granted and denied above reaches it, too';
  }

  /** Whether a table rule restricts a user at the node or below it: the rule gives no privileges, or has a filter or columns. */
  private isRestricted(node: Node, user: string): boolean {
    const { catalog, schema, table } = mapNames(node, unmarkRepresentative);
    const matchesIfNamed = (pattern: string | undefined, name: string | undefined): boolean =>
      name === undefined || this.patterns.matches(pattern, name);
    return this.listedRules.document.tables.some(
      (rule) =>
        this.patterns.matches(rule.user, user) &&
        matchesIfNamed(rule.catalog, catalog) &&
        matchesIfNamed(rule.schema, schema) &&
        matchesIfNamed(rule.table, table) &&
        (rule.privileges.length === 0 || rule.filter !== undefined || rule.columns !== undefined),
    );
  }
}

/** Whether a fact is a right in `system` of almost no use: any but SELECT and the call of `kill_query`. */
function isUnusedSystemRight(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.resource.catalog !== SYSTEM) return false;
  return (
    fact.about === 'schema-ownership' ||
    (fact.about === 'privilege' && fact.privilege !== 'SELECT') ||
    (fact.about === 'routine' && !isKillQuery(fact.resource))
  );
}

function canDependOnGroups({ fact }: AccessDifference): boolean {
  return !['session-property', 'catalog-mode', 'impersonation'].includes(fact.about) && !isUnusedSystemRight(fact);
}

function isAboutUnnamedData(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.about === 'routine' || fact.resource.catalog === SYSTEM) return false;
  const { catalog, schema, table }: Node = fact.resource;
  return [catalog, schema, table].some(isFreshName);
}

function isFreshName(name: string | undefined): boolean {
  return name?.includes(FRESH_PREFIX) === true;
}

const MAX_SHOWN_COMBINATIONS = 20;

const SYSTEM_TABLES_REASON =
  'in system, a grant covers all of metadata or jdbc, with or without the tables that the file names, and in runtime single tables';

const ROUTINE_PATTERN_REASON =
  'routines are granted by name, or all of a schema or catalog that is named or in a listing (--catalog): write the names that the pattern matches into the rule';
const ROUTINE_REASON =
  'a filter, a mask, a hidden column or a deny in the catalog takes precedence, or a grant would reach other routines, too';
const LISTING_ADVICE = 'a listing (--catalog) tells which there are';
const ENTRY_REASON = 'users can enter and list only catalogs in which they have access to something';
const SETTING_REASON =
  'session properties are a setting (ACL_SESSION_PROPERTIES) for all users; list the defaults of a session property manager there, too: ' +
  'up to Trino 483 they fail every query of users who may not set them, and properties of a catalog cannot be listed';
const SYSTEM_REASON = 'system is the catalog of the engine itself, in which only SELECT can be granted';
const JOINERS_REASON =
  'no grant to a group expresses it: listed users get it by name, and keep it when they leave the group';
const COMBINATIONS_REASON =
  'no listed user is in both groups, and a restriction of one of them also holds for members of both';
const LEAVERS_REASON = 'one rule names the users and another one their groups: no grant or deny expresses both';
const STRANGERS_REASON = 'these users have no account, or are service accounts';
const UNLISTED_REASON =
  'a grant names the owner of the queries or the impersonated user, and this one is not in the list';
const PATTERN_REASON = 'a pattern is granted as the names in the listing; names that are added later are not granted';

/** Ways by which the engine lets users bypass restrictions (docs/limits.md). */
const PROCEDURES_LOOPHOLE = 'table procedures (ALTER TABLE … EXECUTE) of users who may only read';
const COMPANIONS_LOOPHOLE = 'companion tables (t$files and others) of restricted tables';
const STORAGE_LOOPHOLE = 'columns of the storage ($path, $partition, $bucket) beside masked and hidden ones';
const WRITING_LOOPHOLE = 'UPDATE and DELETE beside a row filter, all writing beside a mask';
const LOOPHOLES = [PROCEDURES_LOOPHOLE, COMPANIONS_LOOPHOLE, STORAGE_LOOPHOLE, WRITING_LOOPHOLE] as const;
type Loophole = (typeof LOOPHOLES)[number];

const LOOPHOLES_REASON = 'they bypass restrictions of the rules';

const WRITE_PRIVILEGES: readonly string[] = ['INSERT', 'UPDATE', 'DELETE'];
