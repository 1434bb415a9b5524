import { getOrInsert } from '../../kernel/collections.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { isKillQuery, SYSTEM, type Node, withNames } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { READERS_FILTER } from '../../trino-rules/document/rules-document.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { nameInRules, renamed, type AccessFact } from '../../trino-rules/engine/access-fact.js';
import { decidingRule, type RuleAt } from '../../trino-rules/engine/deciding-rule.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { ListedUser } from '../foreign/audiences.js';
import { importFinding, type ImportCode, type ImportFinding, linesOf, propertiesText } from './import-finding.js';
import type { Joiner } from './joiners.js';
import type { ListedRules } from './listed-rules.js';
import { tablesOfSystem } from './system-tables.js';

/** Turns differences into findings: one for all differences with the same rule, users and reason. */
export class DifferenceFindings {
  private readonly classOfUser = new Map<string, number>();
  private readonly classOfRules = new Map<string, number>();

  constructor(
    private readonly file: { rules: ForeignRules; at: number },
    private readonly given: ListedRules,
    private readonly evaluator: Evaluator,
    private readonly patterns: PatternCache,
    private readonly listed: readonly ListedUser[],
  ) {}

  /** @param isListed whether patterns were resolved to the names of a listing: all other names then have a finding of their own */
  lostFindings(differences: readonly AccessDifference[], { grants }: Snapshot, isListed: boolean): ImportFinding[] {
    const asEveryone = new Set(
      grants.flatMap(({ principal, resource: { as } }) =>
        principal.type === 'engine' && as?.type === 'everyone' ? [principal.name] : [],
      ),
    );
    const names = new Set(this.listed.map(({ name }) => name));
    const codeOf = ({ fact, people }: AccessDifference): ImportCode => {
      if (fact.about === 'session-property') return 'import-session-properties';
      if (isOfSystem(fact)) return 'import-system';
      if (this.doorOf(fact, people[0] ?? '') !== null) return 'import-doors';
      if (fact.about === 'catalog-mode') return 'import-entry';
      if (fact.about === 'queries' && fact.owner !== undefined && !names.has(fact.owner)) return 'import-unlisted';
      if (fact.about === 'impersonation' && !names.has(fact.newUser) && people.every((name) => this.isProgram(name)))
        return people.every((name) => asEveryone.has(name)) ? 'import-strangers' : 'import-unlisted';
      return isListed && isOfPattern(fact) ? 'import-pattern-resolved' : 'import-lost';
    };
    const byCode = new Map<ImportCode, AccessDifference[]>();
    for (const each of this.splitByRule(differences)) getOrInsert(byCode, codeOf(each), () => []).push(each);
    const found = (code: ImportCode): AccessDifference[] => byCode.get(code) ?? [];
    return [
      ...this.findings('import-lost', found('import-lost'), (fact, user) => this.reasonOf(fact, user)),
      ...this.findings('import-pattern-resolved', found('import-pattern-resolved'), () => OF_PATTERN),
      ...this.findings('import-strangers', found('import-strangers'), () => OF_STRANGERS),
      ...this.findings('import-unlisted', found('import-unlisted'), () => OF_UNLISTED),
      ...this.findings('import-entry', found('import-entry'), () => OF_ENTRY),
      ...DOORS.flatMap((door) => {
        const closed = found('import-doors').filter(({ fact, people }) => this.doorOf(fact, people[0] ?? '') === door);
        return this.summary('import-doors', closed, door, OF_DOORS);
      }),
      ...this.propertyFindings('import-session-properties', found('import-session-properties')),
      ...this.summary('import-system', found('import-system'), 'write to, own and share what is in system', OF_SYSTEM),
    ];
  }

  propertyFindings(code: ImportCode, differences: readonly AccessDifference[]): ImportFinding[] {
    return this.summary(code, differences, propertiesText(differences), OF_SETTING);
  }

  /**
   * Access that the file gives by groups and joiners do not get: listed users in the same groups have it by name, or no listed user is
   * in the combination.
   * @param lost access that joiners and listed users lose
   */
  joinerFindings(lost: readonly AccessDifference[], joiners: readonly Joiner[]): ImportFinding[] {
    const known = new Map(joiners.map((joiner) => [joiner.name, joiner]));
    /** Whether another combination is the larger one: it says nothing new. */
    const isWithin = (name: string, other: string): boolean => {
      const [groups = [], larger = []] = [name, other].map((each) => known.get(each)?.groups);
      return groups.length < larger.length && groups.every((group) => larger.includes(group));
    };
    const findings = (code: 'import-joiners' | 'import-combinations', why: string): ImportFinding[] => {
      const ofThem = lost.filter(isOfMembers).flatMap((difference) => {
        const losing = new Set(difference.people);
        const isLostByListed = difference.people.some((name) => !known.has(name));
        const isLostAlone = (group: string): boolean =>
          difference.people.some((name) => known.get(name)?.groups.join('\0') === group);
        const people = difference.people.filter((name) => {
          const joiner = known.get(name);
          if (joiner === undefined || joiner.knownAs !== undefined) return false;
          if ((joiner.isPair === true) !== (code === 'import-combinations')) return false;
          if (joiner.isPair && joiner.groups.some(isLostAlone)) return false;
          return joiner.like.length === 0 ? !isLostByListed : !joiner.like.some((each) => losing.has(each));
        });
        if (people.length === 0) return [];
        if (code === 'import-joiners') return [{ ...difference, people }];
        return [{ ...difference, people: people.filter((name) => !people.some((other) => isWithin(other, name))) }];
      });
      return this.findingsAtRules(code, ofThem, why).map((finding) => {
        const found = finding.people.flatMap((name) => known.get(name) ?? []);
        const combinations = found.map(({ groups }) => (groups.length === 0 ? 'no group' : groups.join(' and ')));
        const people = [...new Set(found.flatMap(({ like }) => like))].sort();
        const more = combinations.splice(MOST_NAMED).length;
        const who = `who joins ${[...combinations, ...(more > 0 ? [`${more} more`] : [])].join(', or ')}`;
        return { ...finding, people, what: finding.what.map((each) => `${who}: ${each}`) };
      });
    };
    return [...findings('import-joiners', OF_JOINERS), ...findings('import-combinations', OF_COMBINATIONS)];
  }

  /** Access that users whom a rule names keep after leaving a group, although the file gives it only to members of the group. */
  leaverFindings(kept: readonly AccessDifference[], joiners: readonly Joiner[]): ImportFinding[] {
    const names = new Map(joiners.map(({ name, knownAs = name }) => [name, knownAs]));
    return this.findingsAtRules('import-leavers', kept.filter(isOfMembers), OF_LEAVERS).map((finding) => ({
      ...finding,
      people: [...new Set(finding.people.map((name) => names.get(name) ?? name))].sort(),
    }));
  }

  /** Only the differences that some statement can show: `system` has few tables. */
  withEffect(differences: readonly AccessDifference[], next: Evaluator): AccessDifference[] {
    return differences.filter(({ fact, people }) => {
      // The mode `all` alone and the catalog `system` alone permit no statement.
      if (fact.about === 'catalog-mode') return fact.mode !== 'all' && fact.resource.catalog !== SYSTEM;
      if (fact.about !== 'privilege' || fact.privilege !== 'SELECT' || fact.resource.catalog !== SYSTEM) return true;
      const { schema = '', table = '' } = fact.resource;
      const [tables, rules] = [tablesOfSystem(schema), [this.evaluator, next] as const];
      const reads = (name: string, user: string): boolean[] =>
        rules.map((each) => each.maySelect(user, { catalog: SYSTEM, schema, table: name }, []));
      const isLost = (name: string): boolean => people.some((user) => reads(name, user).join() === 'true,false');
      return tables.includes(table) || (isUnnamed(table) && tables.some(isLost));
    });
  }

  /** The way around a restriction (docs/limits.md) that grants do not open; null: the fact is no such way. */
  private doorOf(fact: AccessFact, user: string): Door | null {
    if (fact.about === 'table-procedures') return PROCEDURES;
    if (fact.about === 'hidden-column') return STORAGE_COLUMNS.includes(fact.column) ? STORAGE : null;
    if (fact.about !== 'privilege') return null;
    if (fact.resource.table?.includes(`$${FRESH_PREFIX}`) === true) return COMPANIONS;
    if (!PRIVILEGES_OF_WRITING.includes(fact.privilege)) return null;
    const rule = this.given.document.tables[this.decidingRuleFor(fact, user)?.index ?? -1];
    if (rule === undefined || this.given.problemOf(rule) !== null) return null;
    if (rule.columns?.some(({ mask }) => mask !== undefined) === true) return WRITING;
    const isFiltered = rule.filter !== undefined && rule.filter !== READERS_FILTER;
    return isFiltered && fact.privilege !== 'INSERT' ? WRITING : null;
  }

  /** One finding for all differences, at the first rule. */
  private summary(
    code: ImportCode,
    differences: readonly AccessDifference[],
    what: string,
    why: string,
  ): ImportFinding[] {
    const places = differences.map(({ fact, people }) => this.placeOf(fact, people[0] ?? ''));
    const [first] = places.sort((a, b) => a.at - b.at);
    const people = new Set(differences.flatMap((each) => each.people));
    return first === undefined ? [] : [importFinding(code, [...people].sort(), [what], why, first)];
  }

  private findingsAtRules(code: ImportCode, differences: readonly AccessDifference[], why: string): ImportFinding[] {
    return this.findings(code, this.splitByRule(differences), () => why);
  }

  private findings(
    code: ImportCode,
    differences: readonly AccessDifference[],
    reason: (fact: AccessFact, user: string) => string,
  ): ImportFinding[] {
    const alike = new Map<string, { facts: AccessDifference[]; finding: ImportFinding }>();
    for (const difference of differences) {
      const { fact, people } = difference;
      const user = people[0] ?? '';
      const [why, place] = [reason(fact, user), this.placeOf(fact, user)];
      const key = JSON.stringify([people, why, place]);
      getOrInsert(alike, key, () => ({ facts: [], finding: importFinding(code, people, [], why, place) })).facts.push(
        difference,
      );
    }
    return [...alike.values()].map(({ facts, finding }) => ({ ...finding, what: linesOf(facts) }));
  }

  /** Splits differences by the rule that decides for each user. */
  private splitByRule(differences: readonly AccessDifference[]): AccessDifference[] {
    return differences.flatMap((difference) => {
      const people = new Map<string, string[]>();
      const keys = new Map<number, string>();
      for (const user of difference.people) {
        const key = getOrInsert(keys, this.likenessOf(user), () => {
          const { rule, at } = this.placeOf(difference.fact, user);
          return `${rule ?? ''} ${at}`;
        });
        getOrInsert(people, key, () => []).push(user);
      }
      return [...people.values()].map((names) => ({ ...difference, people: names }));
    });
  }

  /** The same number for users with the same rules. */
  private likenessOf(user: string): number {
    return getOrInsert(this.classOfUser, user, () => {
      const { impersonation, ...sections } = this.given.document;
      const acting = impersonation.map(({ original_user: user }) => (user === undefined ? {} : { user }));
      const rules = [...Object.values<readonly { user?: string }[]>(sections).flat(), ...acting];
      const own = rules.flatMap((rule, index) => (this.patterns.matches(rule.user, user) ? [index] : []));
      return getOrInsert(this.classOfRules, own.join(), () => this.classOfRules.size);
    });
  }

  private placeOf(fact: AccessFact, user: string): Pick<ImportFinding, 'rule' | 'at'> {
    const deciding = this.decidingRuleFor(fact, user);
    const rule = deciding && this.given.sourceOf(this.given.document[deciding.section][deciding.index] ?? {});
    return { rule: rule?.place ?? null, at: rule?.at ?? this.file.at };
  }

  private decidingRuleFor(fact: AccessFact, user: string): RuleAt | null {
    return decidingRule(this.evaluator, renamed(fact, nameInRules, nameInRules), user);
  }

  private reasonOf(fact: AccessFact, user: string): string {
    const deciding = this.decidingRuleFor(fact, user);
    const isAbsent = deciding !== null && !this.file.rules.has(deciding.section);
    const opened = isAbsent ? `without a section "${deciding.section}" everybody has it, but ` : '';
    if (fact.about === 'impersonation')
      return this.isProgram(user)
        ? 'nobody acts as strangers, service accounts and those who act as others themselves'
        : 'people do not act as others; the list marks a program with engine: before its name';
    const rule = deciding?.section === 'tables' ? this.given.document.tables[deciding.index] : undefined;
    const problem = rule === undefined ? null : this.given.problemOf(rule);
    return opened + (problem ?? this.limitOfGrants(fact, user));
  }

  private isProgram(user: string): boolean {
    return this.listed.some(({ name, isEngine }) => name === user && isEngine === true);
  }

  private limitOfGrants(fact: AccessFact, user: string): string {
    if (!('resource' in fact)) return 'no grant says it';
    const { catalog, schema, table } = fact.resource;
    if (fact.about === 'routine') {
      if (fact.privilege === 'OWNERSHIP') return 'nobody owns functions';
      return [catalog, schema, fact.resource.routine].some(isUnnamed) ? OF_ROUTINE_PATTERN : OF_ROUTINE;
    }
    if (catalog === SYSTEM) return LIMIT_OF_SYSTEM;
    if (isUnnamed(catalog))
      return `a grant on everything would also reach catalogs that other rules decide; ${NEEDS_LISTING}`;
    const isOwnership =
      fact.about === 'schema-ownership' || (fact.about === 'privilege' && fact.privilege === 'OWNERSHIP');
    if (isOwnership && this.isRestricted(fact.resource, user))
      return 'a filter, a mask, a hidden column or a deny wins over ownership of what it is on, and of the schema';
    if (isUnnamed(schema) || isUnnamed(table))
      return `a grant above would also reach names that other rules decide; ${NEEDS_LISTING}`;
    return 'what is granted and denied above reaches it, too';
  }

  /** Whether the file restricts a table at or below a node for a user. */
  private isRestricted(node: Node, user: string): boolean {
    const { catalog, schema, table } = withNames(node, nameInRules);
    const isAbout = (pattern: string | undefined, name: string | undefined): boolean =>
      name === undefined || this.patterns.matches(pattern, name);
    return this.given.document.tables.some(
      (rule) =>
        this.patterns.matches(rule.user, user) &&
        isAbout(rule.catalog, catalog) &&
        isAbout(rule.schema, schema) &&
        isAbout(rule.table, table) &&
        (rule.privileges.length === 0 || rule.filter !== undefined || rule.columns !== undefined),
    );
  }
}

/** Whether a fact is a right in `system` other than reading: only views for others use such a right. */
function isOfSystem(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.resource.catalog !== SYSTEM) return false;
  return (
    fact.about === 'schema-ownership' ||
    (fact.about === 'privilege' && fact.privilege !== 'SELECT') ||
    (fact.about === 'routine' && !isKillQuery(fact.resource))
  );
}

/** Whether an access can depend on groups. */
function isOfMembers({ fact }: AccessDifference): boolean {
  return !['session-property', 'catalog-mode', 'impersonation'].includes(fact.about) && !isOfSystem(fact);
}

/** Whether a fact is about data whose name no rule spells out. */
function isOfPattern(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.about === 'routine' || fact.resource.catalog === SYSTEM) return false;
  const { catalog, schema, table }: Node = fact.resource;
  return [catalog, schema, table].some(isUnnamed);
}

function isUnnamed(name: string | undefined): boolean {
  return name?.includes(FRESH_PREFIX) === true;
}

/** Limit of the combinations of groups in a line. */
const MOST_NAMED = 20;

const LIMIT_OF_SYSTEM =
  'in system, metadata and jdbc are given whole, or but for tables that the file names; of runtime, tables by name';

const OF_ROUTINE_PATTERN =
  'routines are granted by name, or all of a schema or catalog that is named or in a listing (--catalog): write the names that the pattern matches into the rule';
const OF_ROUTINE =
  'a filter, a mask, a hidden column or a deny in the catalog wins over it, or a grant would reach other routines, too';
const NEEDS_LISTING = 'a listing (--catalog) tells which there are';
const OF_ENTRY = 'a catalog is entered, and listed, by those with access to something in it';
const OF_SETTING =
  'session properties are a setting (ACL_SESSION_PROPERTIES), for everybody alike; list there the defaults of a session property manager, too: ' +
  'up to Trino 483 they fail every query of those who may not set them, and those of a catalog cannot be listed';
const OF_SYSTEM = 'system is the catalog of the engine itself, of which nothing but SELECT is granted';
const OF_JOINERS = 'no grant to a group says it: those of the list have it by name, also when they leave the group';
const OF_COMBINATIONS =
  'nobody of the list is in both groups, and what is kept from one of them is kept from those of both';
const OF_LEAVERS = 'a rule names them, and another one their groups: no grant and no deny says both';
const OF_STRANGERS = 'these have no account, or are service accounts';
const OF_UNLISTED = 'a grant names whom it is about, and others are not in the list';
const OF_PATTERN = 'a pattern is granted as the names that the listing has, and not as those that come later';

/** Ways around restrictions on the engine (docs/limits.md). */
const PROCEDURES = 'table procedures (ALTER TABLE … EXECUTE) of those who only read';
const COMPANIONS = 'companion tables (t$files and others) of restricted tables';
const STORAGE = 'columns of the storage ($path, $partition, $bucket) beside masked and hidden ones';
const WRITING = 'UPDATE and DELETE beside a row filter, all writing beside a mask';
const DOORS = [PROCEDURES, COMPANIONS, STORAGE, WRITING] as const;
type Door = (typeof DOORS)[number];

const OF_DOORS = 'they lead around what the rules restrict';

const PRIVILEGES_OF_WRITING: readonly string[] = ['INSERT', 'UPDATE', 'DELETE'];
