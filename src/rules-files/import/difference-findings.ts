import { getOrInsert } from '../../kernel/collections.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { SYSTEM, type Node, withNames } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { READERS_FILTER } from '../../trino-rules/document/rules-document.js';
import { STORAGE_COLUMNS } from '../../trino-rules/model/restrictions.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { displayName, nameInRules, renamed, type AccessFact } from '../../trino-rules/engine/access-fact.js';
import { decidingRule, type RuleAt } from '../../trino-rules/engine/deciding-rule.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { ListedUser } from '../foreign/audiences.js';
import { importFinding, type ImportCode, type ImportFinding, linesOf, propertiesText } from './import-finding.js';
import type { ListedRules } from './listed-rules.js';
import { tablesOfSystem } from './system-tables.js';
import { isOfPattern, isOfSystem, isUnnamed, isWithoutEffect } from './without-effect.js';

/** Differences as findings: those that one rule decides for the same users, for the same reason, are one. */
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

  /**
   * @param snapshot what is granted
   * @param isListed whether patterns were resolved over a listing: then what is lost of other names is a finding of its own
   */
  lost(differences: readonly AccessDifference[], { grants, policies }: Snapshot, isListed: boolean): ImportFinding[] {
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
    for (const each of this.byRule(differences)) getOrInsert(byCode, codeOf(each), () => []).push(each);
    const found = (code: ImportCode): AccessDifference[] => byCode.get(code) ?? [];
    return [
      ...this.findings('import-lost', found('import-lost'), (fact, user) => this.reason(fact, user, policies)),
      ...this.findings('import-pattern-resolved', found('import-pattern-resolved'), () => OF_PATTERN),
      ...this.findings('import-strangers', found('import-strangers'), () => OF_STRANGERS),
      ...this.findings('import-unlisted', found('import-unlisted'), () => OF_UNLISTED),
      ...this.findings('import-entry', found('import-entry'), () => OF_ENTRY),
      ...DOORS.flatMap((door) => {
        const closed = found('import-doors').filter(({ fact, people }) => this.doorOf(fact, people[0] ?? '') === door);
        return this.summary('import-doors', closed, () => door, OF_DOORS);
      }),
      ...this.summary('import-session-properties', found('import-session-properties'), propertiesText, OF_SETTING),
      ...this.summary('import-system', found('import-system'), () => WRITING_IN_SYSTEM, OF_SYSTEM),
    ];
  }

  /** Of users and joiners, one for each rule. */
  atRules(code: ImportCode, differences: readonly AccessDifference[], why: string): ImportFinding[] {
    return this.findings(code, this.byRule(differences), () => why);
  }

  basicAccess(differences: readonly AccessDifference[]): ImportFinding[] {
    return this.summary('import-basic-access', differences, propertiesText, OF_SETTING);
  }

  /** Those that a statement can tell by the rules of this evaluator: `system` has few tables. */
  ofEffect(differences: readonly AccessDifference[], next: Evaluator): AccessDifference[] {
    return differences.filter(({ fact, people }) => {
      if (isWithoutEffect(fact)) return false;
      if (fact.about !== 'privilege' || fact.privilege !== 'SELECT' || fact.resource.catalog !== SYSTEM) return true;
      const { schema = '', table = '' } = fact.resource;
      const [tables, rules] = [tablesOfSystem(schema), [this.evaluator, next] as const];
      const reads = (name: string, user: string): boolean[] =>
        rules.map((each) => each.maySelect(user, { catalog: SYSTEM, schema, table: name }, []));
      const isLost = (name: string): boolean => people.some((user) => reads(name, user).join() === 'true,false');
      return tables.includes(table) || (isUnnamed(table) && tables.some(isLost));
    });
  }

  /** What leads around the rule that decides, and is closed beside grants; null: it is other access. */
  private doorOf(fact: AccessFact, user: string): Door | null {
    if (fact.about === 'table-procedures') return PROCEDURES;
    if (fact.about === 'hidden-column') return STORAGE_COLUMNS.includes(fact.column) ? STORAGE : null;
    if (fact.about !== 'privilege') return null;
    if (fact.resource.table?.includes(`$${FRESH_PREFIX}`) === true) return COMPANIONS;
    if (!PRIVILEGES_OF_WRITING.includes(fact.privilege)) return null;
    const rule = this.given.document.tables[this.deciding(fact, user)?.index ?? -1];
    if (rule === undefined || this.given.problemOf(rule) !== null) return null;
    if (rule.columns?.some(({ mask }) => mask !== undefined) === true) return WRITING;
    const isFiltered = rule.filter !== undefined && rule.filter !== READERS_FILTER;
    return isFiltered && fact.privilege !== 'INSERT' ? WRITING : null;
  }

  /** One finding for all of these, at the first rule. */
  private summary(
    code: ImportCode,
    differences: readonly AccessDifference[],
    what: (differences: readonly AccessDifference[]) => string,
    why: string,
  ): ImportFinding[] {
    const places = differences.map(({ fact, people }) => this.place(fact, people[0] ?? ''));
    const [first] = places.sort((a, b) => a.at - b.at);
    const people = new Set(differences.flatMap((each) => each.people));
    return first === undefined ? [] : [importFinding(code, [...people].sort(), [what(differences)], why, first)];
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
      const [why, place] = [reason(fact, user), this.place(fact, user)];
      const key = JSON.stringify([people, why, place]);
      getOrInsert(alike, key, () => ({ facts: [], finding: importFinding(code, people, [], why, place) })).facts.push(
        difference,
      );
    }
    return [...alike.values()].map(({ facts, finding }) => ({ ...finding, what: linesOf(facts) }));
  }

  /** A difference of users whom several rules decide for is one for each rule. */
  private byRule(differences: readonly AccessDifference[]): AccessDifference[] {
    return differences.flatMap((difference) => {
      const people = new Map<string, string[]>();
      const keys = new Map<number, string>();
      for (const user of difference.people) {
        const key = getOrInsert(keys, this.alike(user), () => {
          const { rule, at } = this.place(difference.fact, user);
          return `${rule ?? ''} ${at}`;
        });
        getOrInsert(people, key, () => []).push(user);
      }
      return [...people.values()].map((names) => ({ ...difference, people: names }));
    });
  }

  /** The same number for users whom the same rules are about: one rule decides for all of them. */
  private alike(user: string): number {
    return getOrInsert(this.classOfUser, user, () => {
      const { impersonation, ...sections } = this.given.document;
      const acting = impersonation.map(({ original_user: user }) => (user === undefined ? {} : { user }));
      const rules = [...Object.values<readonly { user?: string }[]>(sections).flat(), ...acting];
      const own = rules.flatMap((rule, index) => (this.patterns.matches(rule.user, user) ? [index] : []));
      return getOrInsert(this.classOfRules, own.join(), () => this.classOfRules.size);
    });
  }

  private place(fact: AccessFact, user: string): Pick<ImportFinding, 'rule' | 'at'> {
    const deciding = this.deciding(fact, user);
    const rule = deciding && this.given.sourceOf(this.given.document[deciding.section][deciding.index] ?? {});
    return { rule: rule?.place ?? null, at: rule?.at ?? this.file.at };
  }

  private deciding(fact: AccessFact, user: string): RuleAt | null {
    return decidingRule(this.evaluator, renamed(fact, nameInRules, nameInRules), user);
  }

  private reason(fact: AccessFact, user: string, policies: Snapshot['policies']): string {
    const deciding = this.deciding(fact, user);
    const isAbsent = deciding !== null && !this.file.rules.has(deciding.section);
    const opened = isAbsent ? `without a section "${deciding.section}" everybody has it, but ` : '';
    if (fact.about === 'impersonation')
      return this.isProgram(user)
        ? 'nobody acts as strangers, service accounts and those who act as others themselves'
        : 'people do not act as others; the list marks a program with engine: before its name';
    return opened + this.limitOfGrants(fact, user, deciding, policies);
  }

  private isProgram(user: string): boolean {
    return this.listed.some(({ name, isEngine }) => name === user && isEngine === true);
  }

  private limitOfGrants(
    fact: AccessFact,
    user: string,
    deciding: RuleAt | null,
    policies: Snapshot['policies'],
  ): string {
    const rule = deciding?.section === 'tables' ? this.given.document.tables[deciding.index] : undefined;
    const problem = rule === undefined ? null : this.given.problemOf(rule);
    if (problem !== null) return problem;
    if (fact.about === 'routine') return this.limitOfRoutines(fact, user, policies);
    if (!('resource' in fact)) return 'no grant says it';
    const { catalog, schema, table } = fact.resource;
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

  private limitOfRoutines(
    { privilege, resource }: Extract<AccessFact, { about: 'routine' }>,
    user: string,
    policies: Snapshot['policies'],
  ): string {
    if (privilege === 'OWNERSHIP') return 'nobody owns functions';
    const { catalog, schema, routine } = resource;
    if (isUnnamed(routine) && displayName(routine ?? '', '') !== '') return OF_ROUTINE_PATTERN;
    if (isUnnamed(catalog) || isUnnamed(schema)) return OF_SCHEMA_PATTERN;
    const isInCatalog = policies.some((each) => 'catalog' in each.resource && each.resource.catalog === catalog);
    return catalog !== undefined && isInCatalog && this.isRestricted({ catalog }, user)
      ? 'a filter, a mask, a hidden column or a deny in the catalog wins over it'
      : 'a grant would reach other routines, too';
  }

  /** Whether the file itself restricts a table for a user, or some table of a node above. */
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

const LIMIT_OF_SYSTEM =
  'in system, metadata and jdbc are given whole, or but for tables that the file names; of runtime, tables by name';

const OF_ROUTINE_PATTERN =
  'functions and procedures are granted by name, or all of a schema or catalog: write the names that the pattern matches into the rule';
const OF_SCHEMA_PATTERN =
  'routines are granted in catalogs and schemas that are named or in a listing (--catalog), and not in others that match a pattern';
const NEEDS_LISTING = 'a listing (--catalog) tells which there are';
const WRITING_IN_SYSTEM = 'write to, own and share what is in system';
const OF_ENTRY = 'a catalog is entered, and listed, by those with access to something in it';
const OF_SETTING =
  'session properties are a setting (ACL_SESSION_PROPERTIES), for everybody alike; list there the defaults of a session property manager, too: ' +
  'up to Trino 483 they fail every query of those who may not set them, and those of a catalog cannot be listed';
const OF_SYSTEM = 'system is the catalog of the engine itself, of which nothing but SELECT is granted';
const OF_STRANGERS = 'these have no account, or are service accounts';
const OF_UNLISTED = 'a grant names whom it is about, and others are not in the list';
const OF_PATTERN = 'a pattern is granted as the names that the listing has, and not as those that come later';

/** What leads around a right rule on the engine (docs/limits.md). */
const PROCEDURES = 'table procedures (ALTER TABLE … EXECUTE) of those who only read';
const COMPANIONS = 'companion tables (t$files and others) of restricted tables';
const STORAGE = 'columns of the storage ($path, $partition, $bucket) beside masked and hidden ones';
const WRITING = 'UPDATE and DELETE beside a row filter, all writing beside a mask';
const DOORS = [PROCEDURES, COMPANIONS, STORAGE, WRITING] as const;
type Door = (typeof DOORS)[number];

const OF_DOORS = 'they lead around what the rules restrict';

const PRIVILEGES_OF_WRITING: readonly string[] = ['INSERT', 'UPDATE', 'DELETE'];
