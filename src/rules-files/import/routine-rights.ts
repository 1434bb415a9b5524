import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { isInTree, nodeOf, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { orderedPrivileges, type Privilege, PRIVILEGE_TERMS, privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import { isAny } from './nearly-any.js';
import type { UserAccess } from './user-access.js';

type RightsOnNode = UserAccess['grants'][number];

/** A rule about functions, or about procedures. */
interface RoutineRule {
  catalog?: string;
  schema?: string;
  routine?: string;
  gives: boolean;
}

/** Where a user may run something, and where a restriction of data wins over it. */
interface UserCatalogs {
  may: (node: Node) => boolean;
  isRestricted: (catalog: string) => boolean;
}

const LEVELS_OF_ROUTINES = ['catalog', 'schema', 'routine'] as const;
type LevelOfRoutines = (typeof LEVELS_OF_ROUTINES)[number];

/** The first that a node does not name; null: it is a routine. */
function levelBelow(node: Node): LevelOfRoutines | null {
  return LEVELS_OF_ROUTINES.find((level) => node[level] === undefined) ?? null;
}

/** Privileges as they are found, each with those of its node. */
class PrivilegesByNode {
  private readonly byNode = new Map<string, RightsOnNode>();

  add(resource: Node, privilege: Privilege): void {
    const key = JSON.stringify(resource);
    const privileges = orderedPrivileges([...(this.byNode.get(key)?.privileges ?? []), privilege]);
    this.byNode.set(key, { resource, privileges });
  }

  /** Without those that another of the node brings by itself. */
  rows(brings: 'contains' | 'takes'): RightsOnNode[] {
    return [...this.byNode.values()].map(({ resource, privileges }) => ({
      resource,
      privileges: privileges.filter(
        (each) => !privileges.some((other) => PRIVILEGE_TERMS[other][brings].includes(each)),
      ),
    }));
  }
}

/** The rights of one user to functions and procedures, by the rules that are about this user alone. */
export class RoutineRights {
  /** @param catalogs the named ones with their named schemas, and a fresh one: who is given something on everything enters them all */
  constructor(
    private readonly rules: RulesDocument,
    private readonly evaluator: Evaluator,
    private readonly patterns: PatternCache,
    private readonly metadataCatalog: string | null,
    private readonly catalogs: { named: ReadonlyMap<string, readonly string[]>; fresh: string },
  ) {}

  /**
   * Each right on the widest node that the user has all of, less a few names that are denied below it.
   * @param data what the same user gets over data: where it restricts, no right to a routine has an effect
   */
  over(user: string, data: readonly UserAccess[]): Pick<UserAccess, 'grants' | 'denies'> {
    const restricted = data.flatMap(({ denies, filters, hidden, masks }) =>
      [...denies, ...filters, ...hidden, ...masks].map(({ resource }) => resource).filter(isInTree),
    );
    const isRestricted = (catalog: string): boolean =>
      restricted.some((each) => each.catalog === undefined || each.catalog === catalog);
    const mayIn = (catalog: string): boolean => !isRestricted(catalog) && this.evaluator.mayRead(user, catalog);
    const { named, fresh } = this.catalogs;
    // A right on everything has no effect in catalogs where something restricts.
    const may = ({ catalog }: Node): boolean =>
      catalog !== undefined
        ? mayIn(catalog)
        : [...[...named.keys()].filter((name) => !isRestricted(name)), fresh].every((name) => mayIn(name));
    const { functions, procedures } = this.rules;
    const [granted, denied] = [new PrivilegesByNode(), new PrivilegesByNode()];
    for (const { privilege, rules } of [
      { privilege: 'EXECUTE_FUNCTION' as const, rules: functions.map((rule) => routineRule(rule, rule.function)) },
      {
        privilege: 'GRANT_EXECUTE_FUNCTION' as const,
        rules: functions.map((rule) => routineRule(rule, rule.function, ['GRANT_EXECUTE'])),
      },
      { privilege: 'CALL_PROCEDURE' as const, rules: procedures.map((rule) => routineRule(rule, rule.procedure)) },
    ]) {
      for (const { given, but } of this.widest({}, rules, { may, isRestricted })) {
        if (![given, ...but].every((node) => privilegesOn(node).includes(privilege))) continue;
        granted.add(given, privilege);
        for (const node of but) denied.add(node, privilege);
      }
    }
    return { grants: granted.rows('contains'), denies: denied.rows('takes') };
  }

  /** The nodes, at one and below it, that the first rule gives whole, whatever the names below are, but for a few that it names. */
  private *widest(
    node: Node,
    rules: readonly RoutineRule[],
    user: UserCatalogs,
  ): Iterable<{ given: Node; but: readonly Node[] }> {
    const but = this.isOpen(node) && user.may(node) ? this.exceptions(node, rules, user) : null;
    if (but !== null && !but.includes(node)) {
      yield { given: node, but };
      return;
    }
    const level = levelBelow(node);
    if (level === null) return;
    const spelled = new Set(rules.flatMap((rule) => [...this.spelledIn(rule[level])]));
    const { named } = this.catalogs;
    const known = level === 'catalog' ? named.keys() : level === 'schema' ? named.get(node.catalog ?? '') : [];
    for (const name of known ?? []) spelled.add(name);
    for (const [below, about] of this.below(node, level, spelled, rules)) yield* this.widest(below, about, user);
  }

  /** What is denied at a node and below it where all the rest is given; null: no denies say what the rules do. */
  private exceptions(node: Node, rules: readonly RoutineRule[], user: UserCatalogs): Node[] | null {
    const deciding = rules.findIndex((rule) => this.isAboutAll(rule, node));
    const isApart = (rule: RoutineRule): boolean =>
      this.isAbout(rule, (catalog) => !this.isOpen({ catalog }) || user.isRestricted(catalog));
    const about = rules.slice(0, deciding + 1).filter((rule) => node.catalog !== undefined || !isApart(rule));
    const taking = about.filter(({ gives }) => !gives);
    if (about.length > 0 && taking.length === 0) return [];
    if ((deciding < 0 ? rules : about).every(({ gives }) => !gives)) return [node];
    const level = levelBelow(node);
    if (level === null || about.at(-1)?.gives !== true) return null;
    const languages = taking.map((rule) => this.patterns.language(rule[level]));
    const names = new Set(languages.flatMap((language) => (language.kind === 'names' ? [...language.names] : [])));
    const isOfNames = languages.every(({ kind }) => kind === 'names');
    if (!isOfNames || [...names].some((name) => resourceNameProblem(name) !== null)) return null;
    const denied: Node[] = [];
    for (const [below, those] of this.below(node, level, names, rules)) {
      if (!this.isOpen(below) || !user.may(below)) continue;
      const found = this.exceptions(below, those, user);
      if (found === null) return null;
      denied.push(...found);
    }
    return denied;
  }

  /** Nodes of these names, each with the rules that are about something in it. */
  private *below(
    node: Node,
    level: LevelOfRoutines,
    names: ReadonlySet<string>,
    rules: readonly RoutineRule[],
  ): Iterable<[Node, RoutineRule[]]> {
    for (const name of [...names].sort()) {
      if (resourceNameProblem(name) !== null) continue;
      const about = rules.filter((rule) => this.patterns.matches(rule[level], name));
      yield [nodeOf({ ...node, [level]: name }), about];
    }
  }

  private spelledIn(pattern: string | undefined): Iterable<string> {
    const language = this.patterns.language(pattern);
    if (language.kind === 'names') return language.names;
    return language.kind === 'open' ? language.spelled : [];
  }

  private isAboutAll(rule: RoutineRule, node: Node): boolean {
    return LEVELS_OF_ROUTINES.every((level) => node[level] !== undefined || isAny(rule[level]));
  }

  /** Whether a rule is about named catalogs alone, which are all such. */
  private isAbout({ catalog }: RoutineRule, isSuch: (catalog: string) => boolean): boolean {
    const language = this.patterns.language(catalog);
    return language.kind === 'names' && [...language.names].every(isSuch);
  }

  private isOpen(node: Node): boolean {
    return node.catalog !== SYSTEM && closedProblem(node, this.metadataCatalog) === null;
  }
}

function routineRule(
  { catalog, schema, privileges }: { catalog?: string; schema?: string; privileges: readonly string[] },
  routine: string | undefined,
  // Who may pass it on may execute it.
  giving: readonly string[] = ['EXECUTE', 'GRANT_EXECUTE'],
): RoutineRule {
  const gives = privileges.some((privilege) => giving.includes(privilege));
  return {
    ...(catalog !== undefined && { catalog }),
    ...(schema !== undefined && { schema }),
    ...(routine !== undefined && { routine }),
    gives,
  };
}
