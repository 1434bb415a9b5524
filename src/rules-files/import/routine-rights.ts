import { getOrInsert, groupBy } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { isInTree, nodeOf, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { orderedPrivileges, type Privilege, PRIVILEGE_TERMS, privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import { matchesAny, spelledNames } from './named-nodes.js';
import type { UserAccess } from './node-access.js';

type RightsOnNode = UserAccess['grants'][number];

interface RoutineRule {
  catalog: string | undefined;
  schema: string | undefined;
  routine: string | undefined;
  givesRight: boolean;
}

/** Tests for one user: whether the user may run routines in a node, and whether data in a catalog is restricted (which forbids routines). */
interface CatalogTests {
  mayRunIn: (node: Node) => boolean;
  isRestricted: (catalog: string) => boolean;
}

const LEVELS = ['catalog', 'schema', 'routine'] as const;
type Level = (typeof LEVELS)[number];

/** The level of a node's children; null: the node is a routine. */
function levelBelow(node: Node): Level | null {
  return LEVELS.find((level) => node[level] === undefined) ?? null;
}

/** Groups privileges by node. Leaves out privileges that another one on the same node implies. */
function rightsByNode(
  nodePrivileges: readonly (readonly [Node, Privilege])[],
  impliedField: 'alsoGives' | 'alsoTakes',
): RightsOnNode[] {
  return [...groupBy(nodePrivileges, ([node]) => JSON.stringify(node)).values()].map((rightsOnNode) => {
    const allPrivileges = orderedPrivileges(rightsOnNode.map(([, privilege]) => privilege));
    const isImplied = (each: Privilege): boolean =>
      allPrivileges.some((other) => PRIVILEGE_TERMS[other][impliedField].includes(each));
    return { resource: rightsOnNode[0][0], privileges: allPrivileges.filter((each) => !isImplied(each)) };
  });
}

/** The rights of one user to functions and procedures, by the rules about this user. */
export class RoutineRights {
  /** @param catalogNames the catalogs that rules name, each with its named schemas, and an invented name that represents all other catalogs */
  constructor(
    private readonly rules: RulesDocument,
    private readonly evaluator: Evaluator,
    private readonly patterns: PatternCache,
    private readonly metadataCatalog: string | null,
    private readonly catalogNames: { namedSchemas: ReadonlyMap<string, readonly string[]>; freshName: string },
  ) {}

  /**
   * The user's rights as grants on the widest possible nodes, and denies for exceptions below these nodes.
   * @param dataAccess the user's access to data. Rights to routines have no effect where data is restricted
   */
  rightsOf(user: string, dataAccess: readonly UserAccess[]): Pick<UserAccess, 'grants' | 'denies'> {
    const restrictedNodes = dataAccess.flatMap(({ denies, filters, hiddenColumns, masks }) =>
      [...denies, ...filters, ...hiddenColumns, ...masks].map(({ resource }) => resource).filter(isInTree),
    );
    const isRestricted = (catalog: string): boolean =>
      restrictedNodes.some((each) => each.catalog === undefined || each.catalog === catalog);
    const openCatalogs = new Map<string, boolean>();
    const mayEnter = (catalog: string): boolean =>
      getOrInsert(openCatalogs, catalog, () => !isRestricted(catalog) && this.evaluator.mayReadCatalog(user, catalog));
    const { namedSchemas: schemas, freshName } = this.catalogNames;
    // A right on everything has no effect in catalogs with restricted data, so these need not let the user in.
    const mayRunIn = ({ catalog }: Node): boolean =>
      catalog !== undefined
        ? mayEnter(catalog)
        : [...[...schemas.keys()].filter((name) => !isRestricted(name)), freshName].every((name) => mayEnter(name));
    const { functions, procedures } = this.rules;
    const [granted, denied]: [[Node, Privilege][], [Node, Privilege][]] = [[], []];
    const rulesByPrivilege: [Privilege, RoutineRule[]][] = [
      ['EXECUTE_FUNCTION', functions.map((rule) => routineRule(rule, rule.function))],
      ['GRANT_EXECUTE_FUNCTION', functions.map((rule) => routineRule(rule, rule.function, ['GRANT_EXECUTE']))],
      ['CALL_PROCEDURE', procedures.map((rule) => routineRule(rule, rule.procedure))],
    ];
    for (const [privilege, rules] of rulesByPrivilege)
      for (const { grantedNode, exceptions } of this.widestNodes({}, rules, { mayRunIn, isRestricted })) {
        if (![grantedNode, ...exceptions].every((node) => privilegesOn(node).includes(privilege))) continue;
        granted.push([grantedNode, privilege]);
        for (const node of exceptions) denied.push([node, privilege]);
      }
    return { grants: rightsByNode(granted, 'alsoGives'), denies: rightsByNode(denied, 'alsoTakes') };
  }

  /** The highest nodes, at or below `node`, on which the import grants the right. `exceptions`: lower nodes with a denial. */
  private *widestNodes(
    node: Node,
    rules: readonly RoutineRule[],
    catalogTests: CatalogTests,
  ): Iterable<{ grantedNode: Node; exceptions: readonly Node[] }> {
    if (!rules.some(({ givesRight }) => givesRight)) return;
    const exceptions =
      this.isGrantable(node) && catalogTests.mayRunIn(node) ? this.exceptionsAt(node, rules, catalogTests) : null;
    if (exceptions !== null && !exceptions.includes(node)) {
      yield { grantedNode: node, exceptions };
      return;
    }
    const level = levelBelow(node);
    if (level === null) return;
    const namesToVisit = new Set(rules.flatMap((rule) => [...spelledNames(rule[level], this.patterns)]));
    const { namedSchemas: schemas } = this.catalogNames;
    const knownNames = level === 'catalog' ? schemas.keys() : level === 'schema' ? schemas.get(node.catalog ?? '') : [];
    for (const name of knownNames ?? []) namesToVisit.add(name);
    for (const [childNode, rulesBelow] of this.childrenOf(node, level, namesToVisit, rules))
      yield* this.widestNodes(childNode, rulesBelow, catalogTests);
  }

  /** The nodes to deny if the right is granted on `node`. Null: denies cannot make the grant equal to the rules. */
  private exceptionsAt(node: Node, rules: readonly RoutineRule[], catalogTests: CatalogTests): Node[] | null {
    const endIndex = rules.findIndex((rule) => this.matchesAllBelow(rule, node));
    const { isRestricted } = catalogTests;
    const isIrrelevant = (rule: RoutineRule): boolean =>
      this.patterns.listsOnly(rule.catalog, (catalog) => !this.isGrantable({ catalog }) || isRestricted(catalog));
    const triedRules = rules.slice(0, endIndex + 1).filter((rule) => node.catalog !== undefined || !isIrrelevant(rule));
    const denyingRules = triedRules.filter(({ givesRight }) => !givesRight);
    if (triedRules.length > 0 && denyingRules.length === 0) return [];
    if ((endIndex < 0 ? rules : triedRules).every(({ givesRight }) => !givesRight)) return [node];
    const level = levelBelow(node);
    if (level === null || triedRules.at(-1)?.givesRight !== true) return null;
    const languages = denyingRules.map((rule) => this.patterns.language(rule[level]));
    const denyNames = new Set(languages.flatMap((language) => (language.kind === 'names' ? [...language.names] : [])));
    const areAllListed = languages.every(({ kind }) => kind === 'names');
    if (!areAllListed || [...denyNames].some((name) => resourceNameProblem(name) !== null)) return null;
    const deniedNodes: Node[] = [];
    for (const [childNode, childRules] of this.childrenOf(node, level, denyNames, rules)) {
      if (!this.isGrantable(childNode) || !catalogTests.mayRunIn(childNode)) continue;
      const exceptions = this.exceptionsAt(childNode, childRules, catalogTests);
      if (exceptions === null) return null;
      deniedNodes.push(...exceptions);
    }
    return deniedNodes;
  }

  private *childrenOf(
    node: Node,
    level: Level,
    names: ReadonlySet<string>,
    rules: readonly RoutineRule[],
  ): Iterable<[Node, RoutineRule[]]> {
    for (const name of [...names].sort()) {
      if (resourceNameProblem(name) !== null) continue;
      const matchingRules = rules.filter((rule) => this.patterns.matches(rule[level], name));
      yield [nodeOf({ ...node, [level]: name }), matchingRules];
    }
  }

  private matchesAllBelow(rule: RoutineRule, node: Node): boolean {
    return LEVELS.every((level) => node[level] !== undefined || matchesAny(rule[level]));
  }

  private isGrantable(node: Node): boolean {
    return node.catalog !== SYSTEM && closedProblem(node, this.metadataCatalog) === null;
  }
}

function routineRule(
  { catalog, schema, privileges }: { catalog?: string; schema?: string; privileges: readonly string[] },
  routine: string | undefined,
  givingPrivileges: readonly string[] = ['EXECUTE', 'GRANT_EXECUTE'],
): RoutineRule {
  return { catalog, schema, routine, givesRight: privileges.some((privilege) => givingPrivileges.includes(privilege)) };
}
