import { groupBy } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { isInTree, nodeOf, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { orderedPrivileges, type Privilege, PRIVILEGE_TERMS, privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import { isAny, spelledNames } from './named-nodes.js';
import type { UserAccess } from './node-outcome.js';

type RightsOnNode = UserAccess['grants'][number];

/** A rule about functions, or about procedures. */
interface RoutineRule {
  catalog: string | undefined;
  schema: string | undefined;
  routine: string | undefined;
  gives: boolean;
}

/** Catalogs where a user may run routines, and where a restriction of data disables that. */
interface UserCatalogs {
  may: (node: Node) => boolean;
  isRestricted: (catalog: string) => boolean;
}

const LEVELS = ['catalog', 'schema', 'routine'] as const;
type Level = (typeof LEVELS)[number];

/** The first level that a node does not name; null: it is a routine. */
function levelBelow(node: Node): Level | null {
  return LEVELS.find((level) => node[level] === undefined) ?? null;
}

/** The privileges on each node, without those that another privilege there implies. */
function byNode(found: readonly (readonly [Node, Privilege])[], brings: 'contains' | 'takes'): RightsOnNode[] {
  return [...groupBy(found, ([node]) => JSON.stringify(node)).values()].map((rights) => {
    const all = orderedPrivileges(rights.map(([, privilege]) => privilege));
    const isBrought = (each: Privilege): boolean => all.some((other) => PRIVILEGE_TERMS[other][brings].includes(each));
    return { resource: rights[0][0], privileges: all.filter((each) => !isBrought(each)) };
  });
}

/** The rights of one user to functions and procedures, by the rules about this user. */
export class RoutineRights {
  /** @param catalogs the named catalogs with their named schemas, and the fresh name of an unnamed one */
  constructor(
    private readonly rules: RulesDocument,
    private readonly evaluator: Evaluator,
    private readonly patterns: PatternCache,
    private readonly metadataCatalog: string | null,
    private readonly catalogs: { named: ReadonlyMap<string, readonly string[]>; fresh: string },
  ) {}

  /**
   * Each right on the widest node where the user has it, with denies for exceptions below.
   * @param data the user's access to data: where it is restricted, rights to routines have no effect
   */
  rightsOf(user: string, data: readonly UserAccess[]): Pick<UserAccess, 'grants' | 'denies'> {
    const restricted = data.flatMap(({ denies, filters, hidden, masks }) =>
      [...denies, ...filters, ...hidden, ...masks].map(({ resource }) => resource).filter(isInTree),
    );
    const isRestricted = (catalog: string): boolean =>
      restricted.some((each) => each.catalog === undefined || each.catalog === catalog);
    const mayIn = (catalog: string): boolean => !isRestricted(catalog) && this.evaluator.mayRead(user, catalog);
    const { named, fresh } = this.catalogs;
    // A right on everything has no effect in catalogs where data is restricted.
    const may = ({ catalog }: Node): boolean =>
      catalog !== undefined
        ? mayIn(catalog)
        : [...[...named.keys()].filter((name) => !isRestricted(name)), fresh].every((name) => mayIn(name));
    const { functions, procedures } = this.rules;
    const [granted, denied]: [[Node, Privilege][], [Node, Privilege][]] = [[], []];
    const rights: [Privilege, RoutineRule[]][] = [
      ['EXECUTE_FUNCTION', functions.map((rule) => routineRule(rule, rule.function))],
      ['GRANT_EXECUTE_FUNCTION', functions.map((rule) => routineRule(rule, rule.function, ['GRANT_EXECUTE']))],
      ['CALL_PROCEDURE', procedures.map((rule) => routineRule(rule, rule.procedure))],
    ];
    for (const [privilege, rules] of rights)
      for (const { given, but } of this.widestNodes({}, rules, { may, isRestricted })) {
        if (![given, ...but].every((node) => privilegesOn(node).includes(privilege))) continue;
        granted.push([given, privilege]);
        for (const node of but) denied.push([node, privilege]);
      }
    return { grants: byNode(granted, 'contains'), denies: byNode(denied, 'takes') };
  }

  /** The widest nodes, at or below a node, on which rules give the right except for some named nodes. */
  private *widestNodes(
    node: Node,
    rules: readonly RoutineRule[],
    user: UserCatalogs,
  ): Iterable<{ given: Node; but: readonly Node[] }> {
    const but = this.isOpen(node) && user.may(node) ? this.exceptionsAt(node, rules, user) : null;
    if (but !== null && !but.includes(node)) {
      yield { given: node, but };
      return;
    }
    const level = levelBelow(node);
    if (level === null) return;
    const spelled = new Set(rules.flatMap((rule) => [...spelledNames(rule[level], this.patterns)]));
    const { named } = this.catalogs;
    const known = level === 'catalog' ? named.keys() : level === 'schema' ? named.get(node.catalog ?? '') : [];
    for (const name of known ?? []) spelled.add(name);
    for (const [below, about] of this.childrenOf(node, level, spelled, rules))
      yield* this.widestNodes(below, about, user);
  }

  /** Nodes below a node that need a deny, or the node itself if rules give nothing there; null: denies cannot express the rules. */
  private exceptionsAt(node: Node, rules: readonly RoutineRule[], user: UserCatalogs): Node[] | null {
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
    for (const [below, those] of this.childrenOf(node, level, names, rules)) {
      if (!this.isOpen(below) || !user.may(below)) continue;
      const found = this.exceptionsAt(below, those, user);
      if (found === null) return null;
      denied.push(...found);
    }
    return denied;
  }

  /** The children of a node with these names, each with the rules that match it. */
  private *childrenOf(
    node: Node,
    level: Level,
    names: ReadonlySet<string>,
    rules: readonly RoutineRule[],
  ): Iterable<[Node, RoutineRule[]]> {
    for (const name of [...names].sort()) {
      if (resourceNameProblem(name) !== null) continue;
      const about = rules.filter((rule) => this.patterns.matches(rule[level], name));
      yield [nodeOf({ ...node, [level]: name }), about];
    }
  }

  private isAboutAll(rule: RoutineRule, node: Node): boolean {
    return LEVELS.every((level) => node[level] !== undefined || isAny(rule[level]));
  }

  /** Whether a rule is for a list of catalogs that all pass the test. */
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
  giving: readonly string[] = ['EXECUTE', 'GRANT_EXECUTE'],
): RoutineRule {
  return { catalog, schema, routine, gives: privileges.some((privilege) => giving.includes(privilege)) };
}
