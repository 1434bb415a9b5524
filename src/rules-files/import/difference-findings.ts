import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { accessDiffLines } from '../../trino-rules/diff/access-diff-form.js';
import { SYSTEM, type Node, withNames } from '../../trino-rules/model/node.js';
import { SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { OtherRight } from '../../trino-rules/diff/other-right.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { nameInRules, renamed, type AccessFact } from '../../trino-rules/engine/access-fact.js';
import { decidingRule, type RuleAt } from '../../trino-rules/engine/deciding-rule.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { ListedUser } from '../foreign/audiences.js';
import { importFinding, type ImportCode, type ImportFinding } from './import-finding.js';
import type { ListedRules } from './listed-rules.js';

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

  /** @param isListed whether patterns were resolved over a listing: then what is lost of other names is a finding of its own */
  lost(differences: readonly AccessDifference[], isListed: boolean): ImportFinding[] {
    const isOfOthers = ({ fact }: AccessDifference): boolean => isListed && isOfPattern(fact);
    const named = differences.filter((each) => !isOfOthers(each));
    return [
      ...this.findings('import-lost', named, (fact, user) => this.reason(fact, user)),
      ...this.findings('import-pattern-resolved', differences.filter(isOfOthers), () => OF_PATTERN),
    ];
  }

  basicAccess(differences: readonly AccessDifference[]): ImportFinding[] {
    return this.findings('import-basic-access', differences, () => 'it comes with what is granted');
  }

  private findings(
    code: ImportCode,
    differences: readonly AccessDifference[],
    reason: (fact: AccessFact, user: string) => string,
  ): ImportFinding[] {
    const alike = new Map<string, { facts: AccessDifference[]; finding: ImportFinding }>();
    for (const difference of this.byRule(differences)) {
      const { fact, people } = difference;
      const user = people[0] ?? '';
      const [why, place] = [reason(fact, user), this.place(fact, user)];
      const key = JSON.stringify([people, why, place]);
      getOrInsert(alike, key, () => ({ facts: [], finding: importFinding(code, people, [], why, place) })).facts.push(
        difference,
      );
    }
    return [...alike.values()].map(({ facts, finding }) => ({ ...finding, what: linesOf(code, facts) }));
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

  private reason(fact: AccessFact, user: string): string {
    const deciding = this.deciding(fact, user);
    const isAbsent = deciding !== null && !this.file.rules.has(deciding.section);
    const opened = isAbsent ? `without a section "${deciding.section}" everybody has it, but ` : '';
    if (fact.about === 'impersonation')
      return this.listed.some(({ name, isEngine }) => name === user && isEngine === true)
        ? 'nobody acts as strangers, service accounts and those who act as others themselves'
        : 'people do not act as others; the list marks a program with engine: before its name';
    return opened + this.limitOfGrants(fact, user, deciding);
  }

  private limitOfGrants(fact: AccessFact, user: string, deciding: RuleAt | null): string {
    const rule = deciding?.section === 'tables' ? this.given.document.tables[deciding.index] : undefined;
    const problem = rule === undefined ? null : this.given.problemOf(rule);
    if (problem !== null) return problem;
    if (fact.about === 'routine') return limitOfRoutines(fact);
    if (fact.about === 'queries') return 'a grant names whose queries they are, as the list has them';
    if (fact.about === 'session-property')
      return 'session properties are a setting (ACL_SESSION_PROPERTIES), for everybody alike';
    if (!('resource' in fact)) return 'no grant says it';
    const { catalog, schema, table } = fact.resource;
    if (catalog === SYSTEM) return limitOfSystem(fact);
    if (fact.about === 'catalog-mode') return 'a catalog is entered by those with access to something in it';
    if (isUnnamed(catalog))
      return `a grant on everything would also reach catalogs that other rules decide; ${NEEDS_LISTING}`;
    const isOwnership =
      fact.about === 'schema-ownership' || (fact.about === 'privilege' && fact.privilege === 'OWNERSHIP');
    if (isOwnership && this.isRestricted(fact, user))
      return 'a filter, a mask, a hidden column or a deny wins over ownership of what it is on, and of the schema';
    if (isUnnamed(schema) || isUnnamed(table))
      return `a grant above would also reach names that other rules decide; ${NEEDS_LISTING}`;
    return 'what is granted and denied above reaches it, too';
  }

  /** Whether the file itself restricts a table for a user, or some table of a schema. */
  private isRestricted(fact: AccessFact, user: string): boolean {
    const { catalog, schema, table }: Node = 'resource' in fact ? withNames(fact.resource, nameInRules) : {};
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

function limitOfSystem(fact: AccessFact): string {
  const isReading = fact.about === 'privilege' && fact.privilege === 'SELECT';
  return isReading
    ? 'in system, metadata and jdbc are given whole, or but for tables that the file names; of runtime, tables by name'
    : 'system is the catalog of the engine itself, of which nothing but SELECT is granted';
}

function limitOfRoutines({ resource: { catalog }, privilege }: Extract<AccessFact, { about: 'routine' }>): string {
  if (privilege === 'OWNERSHIP') return 'nobody owns functions';
  if (catalog === 'system')
    return 'in system, nothing but runtime.kill_query is given: built-in functions need no grant';
  return 'a filter, a mask, a hidden column or a deny in the catalog wins over it, or a grant would reach other routines, too';
}

/** The mode `all` alone and the catalog `system` alone permit no statement; in `system`, there are no schemas but three. */
export function isWithoutEffect(fact: AccessFact | OtherRight): boolean {
  if (fact.about === 'catalog-mode') return fact.mode === 'all' || fact.resource.catalog === SYSTEM;
  if (fact.about !== 'privilege' || fact.privilege !== 'SELECT' || fact.resource.catalog !== SYSTEM) return false;
  return !SYSTEM_SCHEMAS.includes(fact.resource.schema ?? '');
}

const NEEDS_LISTING = 'a listing (--catalog) tells which there are';
const OF_PATTERN = 'a pattern is granted as the names that the listing has, and not as those that come later';

/** Whether it is about names of data that no rule spells out. */
function isOfPattern(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.about === 'routine' || fact.resource.catalog === SYSTEM) return false;
  const { catalog, schema, table }: Node = fact.resource;
  return [catalog, schema, table].some(isUnnamed);
}

function isUnnamed(name: string | undefined): boolean {
  return name?.includes(FRESH_PREFIX) === true;
}

/** Without the line of the users. The catalog `system` is read; what else its rules give is one line. */
function linesOf(code: ImportCode, differences: readonly AccessDifference[]): string[] {
  const listed = differences.filter(({ fact }) => !isWriteToSystem(fact));
  const [gained, lost] = code === 'import-basic-access' ? [listed, []] : [[], listed];
  const lines = accessDiffLines({ gained, lost })
    .slice(1)
    .map((line) => line.trim());
  return listed.length === differences.length ? lines : [...lines, 'write to, own and share what is in system'];
}

function isWriteToSystem(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.resource.catalog !== 'system') return false;
  return fact.about === 'schema-ownership' || (fact.about === 'privilege' && fact.privilege !== 'SELECT');
}
