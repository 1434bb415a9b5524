import { READERS_FILTER } from '../document/rules-document.js';
import {
  type AccessFact,
  describePermission,
  displayName,
  isRestriction,
  type Restriction,
} from '../engine/access-fact.js';
import type { EngineSets } from '../engine/engine-sets.js';
import type { UserUniverse } from '../engine/user-universe.js';
import {
  addWord,
  bitset,
  countMembers,
  positionsInWord,
  membersOf,
  removeAll,
  wordAt,
  type Bitset,
} from '../engine/sparse-bitset.js';
import { type Guarantee, type GuaranteeScope, isPerPrincipal } from '../model/guarantee.js';
import { covers, type Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import { type Privilege, PRIVILEGE_TERMS, PRIVILEGES } from '../model/privilege.js';
import type { Question } from '../model/question.js';
import { isOpenSystemNode } from '../model/resource.js';
import { baseNames } from '../model/restrictions.js';

export interface PrincipalResolver {
  /** Positions of a principal's members in the list of users, without service accounts. */
  positionsOf(principal: PolicyPrincipal): Iterable<number>;
  /** Positions of the owners of a principal's queries: its members, and deactivated accounts, because their running queries continue. */
  ownersOf(principal: PolicyPrincipal): Iterable<number>;
  /** The service's own catalog, which a scope on everything does not include; null: there is none. */
  metadataCatalog: string | null;
}

interface JudgedEngine extends Pick<EngineSets, 'wordCount'> {
  universe: Pick<UserUniverse, 'isRepresentative' | 'positionsOf'>;
}

/** A user, a node and a privilege that break a guarantee: the user holds the privilege or, for `always`, lacks it. */
export interface Witness {
  userPosition: number;
  scope: GuaranteeScope;
  resource: Node;
  privilege: Privilege;
  fact: Question;
  /** For `apart`, which has two scopes: the same user's access in the other scope. */
  secondWitness?: Witness;
}

export interface Verdict {
  guarantee: Guarantee;
  isBroken: boolean;
  /** Number of breaches: triples of user, node and privilege. */
  brokenBy: number;
  /** The first breaches found, up to a limit. For `at_most`: users with access, even if the guarantee holds. */
  witnesses: Witness[];
  checked: { principals: number; nodes: number };
}

/** Default limit of the breaches that are listed for each guarantee. */
export const MAX_WITNESSES = 20;

/** Finds breaches of guarantees. The caller must pass to `addHolders` all access that the rules give. */
export class GuaranteeJudge {
  private readonly judgedGuarantees: readonly JudgedGuarantee[];
  private readonly scopes: readonly JudgedScope[];
  /** For the current table: the scopes about unfiltered rows or unmasked values. `readers`: users with SELECT for whom no filter or mask in the scope was added yet. */
  private tableScopes: { scope: JudgedScope; fact: Question; activeWords: Uint32Array; readers: Bitset }[] = [];
  /** A cache for the node of the last fact (a right at a node), because consecutive facts mostly have the same node. */
  private lastNodeScopes: { node: Node | null; scopes: readonly JudgedScope[] } = { node: null, scopes: [] };

  constructor(
    guarantees: readonly Guarantee[],
    engine: JudgedEngine,
    resolver: PrincipalResolver,
    maxWitnesses = MAX_WITNESSES,
  ) {
    this.judgedGuarantees = guarantees.map((each) => new JudgedGuarantee(each, engine, resolver, maxWitnesses));
    this.scopes = this.judgedGuarantees.flatMap(({ scopes }) => scopes);
  }

  /** Adds the `holders` of a permission. For a restriction, removes the `holders` from the current table's readers. @param activeWords indexes of the 32-bit words of `holders` to read */
  addHolders(fact: AccessFact, activeWords: Uint32Array, holders: Bitset): void {
    if (isRestriction(fact)) {
      for (const { scope, readers } of this.tableScopes)
        if (restrictsScope(fact, scope.guaranteeScope)) removeAll(readers, holders);
      return;
    }
    const privilege = PRIVILEGES_BY_KIND.get(rightKindOf(fact));
    if (privilege === undefined) return;
    const scopes = this.scopesOf(fact).filter(({ guaranteeScope }) => guaranteeScope.privileges.includes(privilege));
    if (privilege === 'SELECT') {
      this.endTable();
      const tableScopeOf = (scope: JudgedScope) => ({
        scope,
        fact,
        activeWords: activeWords.slice(),
        readers: holders.slice(),
      });
      this.tableScopes = scopes.filter(isLimitedScope).map(tableScopeOf);
    }
    for (const scope of scopes)
      if (!isLimitedScope(scope)) scope.guarantee.recordHolders(scope, privilege, fact, activeWords, holders);
  }

  verdicts(): Verdict[] {
    this.endTable();
    return this.judgedGuarantees.map((each) => each.verdict());
  }

  private scopesOf(fact: Question): readonly JudgedScope[] {
    if (!('resource' in fact)) return this.scopes.filter((scope) => scope.guarantee.includesFact(scope, fact));
    const node = fact.resource;
    if (this.lastNodeScopes.node !== node)
      this.lastNodeScopes = {
        node,
        scopes: this.scopes.filter(({ guaranteeScope, guarantee }) => guarantee.includesNode(guaranteeScope, node)),
      };
    return this.lastNodeScopes.scopes;
  }

  /** Records the readers of a table. Called when the next table begins, because by then all restrictions of the table are known. */
  private endTable(): void {
    for (const { scope, fact, activeWords, readers } of this.tableScopes)
      scope.guarantee.recordHolders(scope, 'SELECT', fact, activeWords, readers);
    this.tableScopes = [];
  }
}

interface JudgedScope {
  guaranteeScope: GuaranteeScope;
  guarantee: JudgedGuarantee;
  /** Users with a privilege in the scope. This set and `witnessesByUser` are used only for guarantees of the kinds `apart` and `at_most`. */
  usersWithPrivilege: Bitset;
  witnessesByUser: Map<number, Witness>;
  /** The numbers of the users to impersonate, or of the owners of queries. Null if the scope is about neither impersonation nor queries. */
  affectedUsers: ReadonlySet<number> | null;
}

class JudgedGuarantee {
  readonly scopes: readonly JudgedScope[];
  /** Users who can break the guarantee. */
  private readonly countedUsers: Bitset;
  private readonly witnesses: Witness[] = [];
  private brokenBy = 0;
  private checkedNodeCount = 0;
  private lastCheckedNode: Node | null = null;

  constructor(
    private readonly guarantee: Guarantee,
    private readonly engine: JudgedEngine,
    private readonly resolver: PrincipalResolver,
    private readonly maxWitnesses: number,
  ) {
    const { principal, except, scopes } = guarantee;
    const { wordCount: wordsPerSet } = engine;
    this.countedUsers = bitset(wordsPerSet, resolver.positionsOf(principal));
    for (const each of except) removeAll(this.countedUsers, bitset(wordsPerSet, resolver.positionsOf(each)));
    this.scopes = scopes.map((guaranteeScope): JudgedScope => {
      const { as, queries } = guaranteeScope.resource;
      const affectedPositions = queries ? resolver.ownersOf(queries) : as && resolver.positionsOf(as);
      const affectedUsers = affectedPositions === undefined ? null : new Set(affectedPositions);
      const usersWithPrivilege = new Uint32Array(wordsPerSet);
      return { guaranteeScope, guarantee: this, usersWithPrivilege, witnessesByUser: new Map(), affectedUsers };
    });
  }

  /** Whether a scope includes a node. For `always`, no scope includes companions (`table$suffix`). A scope on the root does not include the metadata catalog. */
  includesNode(scope: GuaranteeScope, node: Node): boolean {
    // The catalogs are compared first, because most scopes are in other catalogs.
    if ((scope.resource.catalog ?? node.catalog) !== node.catalog) return false;
    if (this.guarantee.kind === 'always' && node.table?.includes('$') === true) return false;
    const isClosed = scope.resource.catalog === undefined && node.catalog === this.resolver.metadataCatalog;
    return !isClosed && scopeIncludes(scope, node);
  }

  /** Whether a scope includes a right that has no node, such as a right over queries. */
  includesFact({ guaranteeScope, affectedUsers }: JudgedScope, fact: Question): boolean {
    if (affectedUsers === null) return guaranteeScope.resource.engine === true;
    return this.ownersOf(fact).some((position) => affectedUsers.has(position));
  }

  verdict(): Verdict {
    const { guarantee, witnesses, scopes, maxWitnesses, brokenBy } = this;
    const checked = { principals: membersOf(this.countedUsers).length, nodes: this.checkedNodeCount };
    if (!isPerPrincipal(guarantee)) return { guarantee, isBroken: brokenBy > 0, brokenBy, witnesses, checked };
    const [one, other] = scopes;
    const breaches = [...(one?.witnessesByUser.values() ?? [])].flatMap((witness): Witness[] => {
      const secondWitness = other?.witnessesByUser.get(witness.userPosition);
      return other === undefined ? [witness] : secondWitness === undefined ? [] : [{ ...witness, secondWitness }];
    });
    const isBroken =
      breaches.length > guarantee.count ||
      breaches.some(({ userPosition }) => this.engine.universe.isRepresentative(userPosition));
    const count = isBroken ? breaches.length : 0;
    return { guarantee, isBroken, brokenBy: count, witnesses: breaches.slice(0, maxWitnesses), checked };
  }

  recordHolders(
    scope: JudgedScope,
    privilege: Privilege,
    fact: Question,
    activeWords: Uint32Array,
    holders: Bitset,
  ): void {
    const requiresRight = this.guarantee.kind === 'always';
    const resource = 'resource' in fact ? fact.resource : scope.guaranteeScope.resource;
    if (this.lastCheckedNode !== resource) this.checkedNodeCount += 1;
    this.lastCheckedNode = resource;
    // Nobody can lack access to own queries or impersonation of oneself, because the engine always allows both.
    const exemptUsers =
      requiresRight && !('resource' in fact) ? bitset(this.engine.wordCount, this.ownersOf(fact)) : NO_USERS;
    for (const index of activeWords) {
      const heldWord = wordAt(holders, index);
      const breakingWord =
        wordAt(this.countedUsers, index) & (requiresRight ? ~heldWord & ~wordAt(exemptUsers, index) : heldWord);
      const countsUsers = isPerPrincipal(this.guarantee);
      const newBreakingWord = countsUsers ? breakingWord & ~wordAt(scope.usersWithPrivilege, index) : breakingWord;
      this.brokenBy += countMembers(newBreakingWord);
      if (newBreakingWord === 0 || (!countsUsers && this.witnesses.length === this.maxWitnesses)) continue;
      addWord(scope.usersWithPrivilege, index, newBreakingWord);
      for (const position of positionsInWord(index, newBreakingWord)) {
        const witness = { userPosition: position, scope: scope.guaranteeScope, resource, privilege, fact };
        if (countsUsers) scope.witnessesByUser.set(position, witness);
        else if (this.witnesses.length < this.maxWitnesses) this.witnesses.push(witness);
      }
    }
  }

  private ownersOf(fact: Question): readonly number[] {
    const name = fact.about === 'queries' ? fact.owner : fact.about === 'impersonation' ? fact.newUser : undefined;
    return name === undefined ? [] : this.engine.universe.positionsOf(name);
  }
}

/** Whether a scope includes a node. A scope on a table includes companions (`table$suffix`). Schemas of `system` that need no grant are in no scope. */
export function scopeIncludes({ resource }: GuaranteeScope, node: Node): boolean {
  const { table } = resource;
  const isCompanion = table !== undefined && table !== node.table && baseNames(node.table ?? '').includes(table);
  return covers(resource, isCompanion ? { ...node, table } : node) && !isOpenSystemNode(node);
}

const NO_USERS: Bitset = new Uint32Array(0);

function isLimitedScope({ guaranteeScope: { column, isUnfiltered } }: JudgedScope): boolean {
  return column !== undefined || isUnfiltered;
}

function restrictsScope(fact: Restriction, { column, isUnfiltered }: GuaranteeScope): boolean {
  if (fact.about === 'row-filter') return isUnfiltered && fact.expression !== READERS_FILTER;
  return fact.column === column;
}

/** A key that is equal for questions about the same right on other nodes, columns or names. */
function rightKindOf({ about, ...questionFields }: Question): string {
  return [
    about,
    'kind' in questionFields && questionFields.kind,
    'privilege' in questionFields && questionFields.privilege,
    'right' in questionFields && questionFields.right,
  ].join();
}

/** Privileges by the kind of their right (`rightKindOf`). OWNERSHIP is left out: guarantees name SCHEMA_OWNERSHIP and TABLE_OWNERSHIP instead. */
const PRIVILEGES_BY_KIND: ReadonlyMap<string, Privilege> = new Map(
  PRIVILEGES.flatMap((privilege) => {
    const { components, questionAt } = PRIVILEGE_TERMS[privilege];
    return components.length === 0 ? [[rightKindOf(questionAt({})), privilege]] : [];
  }),
);

/** A breach in words: `ana may SELECT from lake.hr.people, with the real value of ssn`. */
export function breachText(
  { kind }: Guarantee,
  { scope, fact }: Pick<Witness, 'scope' | 'fact'>,
  person: string,
): string {
  const verb = kind === 'always' ? 'may not' : 'may';
  const columnText = scope.column === undefined ? '' : `, with the real value of ${scope.column}`;
  return `${displayName(person, 'anybody else')} ${verb} ${describePermission(fact)}${columnText}`;
}
