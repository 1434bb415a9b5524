import { READERS_FILTER } from '../document/rules-document.js';
import {
  type AccessFact,
  describePermission,
  displayName,
  isRestriction,
  type Restriction,
} from '../engine/access-fact.js';
import type { EngineSets } from '../engine/engine-sets.js';
import {
  addWord,
  bitset,
  countMembers,
  members,
  membersOf,
  removeAll,
  wordAt,
  type Bitset,
} from '../engine/sparse-bitset.js';
import { type Guarantee, type GuaranteeScope, isAboutPeople } from '../model/guarantee.js';
import { covers, namedBy, type Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import type { Privilege } from '../model/privilege.js';
import type { Question } from '../model/question.js';
import { isOpenSystem } from '../model/resource.js';
import { basesOf } from '../model/restrictions.js';

/** The users by whom guarantees can be broken. */
export interface JudgedUsers {
  /** Positions of a principal's members, without service accounts. */
  positionsOf(principal: PolicyPrincipal): Iterable<number>;
  /** A scope on everything leaves this catalog out; null: there is none. */
  metadataCatalog: string | null;
}

type Engine = Pick<EngineSets, 'width' | 'people'>;

/** A user at a node, and a privilege that breaks a guarantee: held, or of `always` missing. */
export interface Witness {
  position: number;
  scope: GuaranteeScope;
  resource: Node;
  privilege: Privilege;
  /** What is asked of the engine. */
  fact: Question;
  /** Of `apart`: what the user has in the other scope. */
  second?: Witness;
}

export interface Verdict {
  guarantee: Guarantee;
  isBroken: boolean;
  /** Number of triples of user, node and privilege. */
  brokenBy: number;
  /** The first breaches; for `at_most` the counted users, also where it holds. */
  witnesses: Witness[];
  checked: { principals: number; nodes: number };
}

/** Maximum of witnesses for each guarantee, where no other is given. */
export const MOST_WITNESSES = 20;

/** Judges guarantees by a document: `addHolders` receives the holders of each fact at each node, one after the other. */
export class GuaranteeJudge {
  private readonly judged: readonly JudgedGuarantee[];
  /** The refined scopes that the current table is in, with its readers whom no restriction so far keeps from what is asked. */
  private table: { scope: JudgedScope; fact: Question; active: Uint32Array; readers: Bitset }[] = [];
  /** Scopes that the current schema can be in. */
  private near: { key: string | null; scopes: readonly JudgedScope[] } = { key: null, scopes: [] };
  /** The node of the last fact and the scopes that include it. Node null: the fact has no node; undefined: no fact yet. */
  private here: { node: Node | null | undefined; scopes: readonly JudgedScope[] } = { node: undefined, scopes: [] };

  constructor(guarantees: readonly Guarantee[], engine: Engine, users: JudgedUsers, most = MOST_WITNESSES) {
    this.judged = guarantees.map((guarantee) => new JudgedGuarantee(guarantee, engine, users, most));
  }

  /** @param holders users of the fact, at the active words. Restrictions of a table come after its privileges. */
  addHolders(fact: AccessFact, active: Uint32Array, holders: Bitset): void {
    if (isRestriction(fact)) {
      for (const { scope, readers } of this.table) if (restricts(fact, scope.of)) removeAll(readers, holders);
      return;
    }
    const privilege = privilegeOf(fact);
    if (privilege === undefined) return;
    const scopes = this.within(fact).filter(({ of }) => of.privileges.includes(privilege));
    if (privilege === 'SELECT') {
      this.endTable();
      const read = (scope: JudgedScope) => ({ scope, fact, active: active.slice(), readers: holders.slice() });
      this.table = scopes.filter(isRefined).map(read);
    }
    for (const scope of scopes) if (!isRefined(scope)) scope.judged.record(scope, privilege, fact, active, holders);
  }

  verdicts(): Verdict[] {
    this.endTable();
    return this.judged.map((each) => each.verdict());
  }

  private within(fact: Question): readonly JudgedScope[] {
    const node = 'resource' in fact ? fact.resource : null;
    if (this.here.node !== node) {
      const near = this.nearTo(node ?? {});
      this.here = { node, scopes: node === null ? near : near.filter(({ of, judged }) => judged.includes(of, node)) };
    }
    return node === null ? this.here.scopes.filter((scope) => scope.judged.isAbout(scope, fact)) : this.here.scopes;
  }

  private nearTo({ catalog, schema }: Node): readonly JudgedScope[] {
    const key = JSON.stringify([catalog, schema]);
    const isNear = ({ of: { resource } }: JudgedScope): boolean =>
      (resource.catalog ?? catalog) === catalog && (resource.schema ?? schema) === schema;
    if (this.near.key !== key) this.near = { key, scopes: this.judged.flatMap(({ scopes }) => scopes).filter(isNear) };
    return this.near.scopes;
  }

  /** The restrictions of a table are complete when the next table begins. */
  private endTable(): void {
    for (const { scope, fact, active, readers } of this.table)
      scope.judged.record(scope, 'SELECT', fact, active, readers);
    this.table = [];
  }
}

interface JudgedScope {
  of: GuaranteeScope;
  judged: JudgedGuarantee;
  /** Of `apart` and `at_most`: the users who have a privilege in it, with the first witness of each. */
  users: Bitset;
  first: Map<number, Witness>;
  /** Positions of the impersonated users or of the owners of queries; null: the scope names neither. */
  others: ReadonlySet<number> | null;
}

/** A guarantee and what has been seen of it. */
class JudgedGuarantee {
  readonly scopes: readonly JudgedScope[];
  /** Users who can break it. */
  private readonly counted: Bitset;
  private readonly witnesses: Witness[] = [];
  private brokenBy = 0;
  private nodes = 0;
  /** The last node that was asked about. */
  private asked: Node | null = null;

  constructor(
    private readonly guarantee: Guarantee,
    private readonly engine: Engine,
    private readonly users: JudgedUsers,
    private readonly most: number,
  ) {
    const { principal, except, scopes } = guarantee;
    const { width } = engine;
    this.counted = bitset(width, users.positionsOf(principal));
    for (const each of except) removeAll(this.counted, bitset(width, users.positionsOf(each)));
    this.scopes = scopes.map((of): JudgedScope => {
      const named = namedBy(of.resource);
      const others = named === undefined ? null : new Set(users.positionsOf(named));
      return { of, judged: this, users: new Uint32Array(width), first: new Map(), others };
    });
  }

  /** `always` leaves companions out. */
  includes(scope: GuaranteeScope, node: Node): boolean {
    if (this.guarantee.kind === 'always' && node.table?.includes('$') === true) return false;
    const isClosed = scope.resource.catalog === undefined && node.catalog === this.users.metadataCatalog;
    return !isClosed && scopeIncludes(scope, node);
  }

  /** Whether a scope includes a fact without a node. */
  isAbout({ of, others }: JudgedScope, fact: Question): boolean {
    if (others === null) return of.resource.engine === true;
    return this.ownersOf(fact).some((position) => others.has(position));
  }

  verdict(): Verdict {
    const { guarantee, witnesses, scopes, most, brokenBy } = this;
    const checked = { principals: membersOf(this.counted).length, nodes: this.nodes };
    if (!isAboutPeople(guarantee)) return { guarantee, isBroken: brokenBy > 0, brokenBy, witnesses, checked };
    const [one, other] = scopes;
    const found = [...(one?.first.values() ?? [])].flatMap((witness): Witness[] => {
      const second = other?.first.get(witness.position);
      return other === undefined ? [witness] : second === undefined ? [] : [{ ...witness, second }];
    });
    const isBroken =
      found.length > guarantee.count || found.some(({ position }) => this.engine.people.isUnnamed(position));
    const count = isBroken ? found.length : 0;
    return { guarantee, isBroken, brokenBy: count, witnesses: found.slice(0, most), checked };
  }

  record(scope: JudgedScope, privilege: Privilege, fact: Question, active: Uint32Array, holders: Bitset): void {
    const isMissing = this.guarantee.kind === 'always';
    const resource = 'resource' in fact ? fact.resource : scope.of.resource;
    if (this.asked !== resource) this.nodes += 1;
    this.asked = resource;
    // The engine always allows access to own queries and impersonation of oneself.
    const own = isMissing && !('resource' in fact) ? bitset(this.engine.width, this.ownersOf(fact)) : NOBODY;
    for (const index of active) {
      const has = wordAt(holders, index);
      const found = wordAt(this.counted, index) & (isMissing ? ~has & ~wordAt(own, index) : has);
      const isByPerson = isAboutPeople(this.guarantee);
      const more = isByPerson ? found & ~wordAt(scope.users, index) : found;
      this.brokenBy += countMembers(more);
      if (more === 0 || (!isByPerson && this.witnesses.length === this.most)) continue;
      addWord(scope.users, index, more);
      for (const position of members(index, more)) {
        const witness = { position, scope: scope.of, resource, privilege, fact };
        if (isByPerson) scope.first.set(position, witness);
        else if (this.witnesses.length < this.most) this.witnesses.push(witness);
      }
    }
  }

  /** The owners of queries, or the impersonated users, that a fact names. */
  private ownersOf(fact: Question): readonly number[] {
    const name = fact.about === 'queries' ? fact.owner : fact.about === 'impersonation' ? fact.newUser : undefined;
    return name === undefined ? [] : this.engine.people.named(name);
  }
}

/** Whether a node is within a scope. Companions are part of their table. Everybody reads `jdbc` and `metadata` in `system`, so no scope has them. */
export function scopeIncludes({ resource }: GuaranteeScope, node: Node): boolean {
  const { table } = resource;
  const isCompanion = table !== undefined && table !== node.table && basesOf(node.table ?? '').includes(table);
  return covers(resource, isCompanion ? { ...node, table } : node) && !isOpenSystem(node);
}

const NOBODY: Bitset = new Uint32Array(0);

function isRefined({ of: { column, isUnfiltered } }: JudgedScope): boolean {
  return column !== undefined || isUnfiltered;
}

function restricts(fact: Restriction, { column, isUnfiltered }: GuaranteeScope): boolean {
  if (fact.about === 'row-filter') return isUnfiltered && fact.expression !== READERS_FILTER;
  return fact.column === column;
}

/** The privilege whose holders a fact has; undefined: none. */
function privilegeOf(fact: Question): Privilege | undefined {
  switch (fact.about) {
    case 'privilege':
      return fact.privilege === 'OWNERSHIP' ? 'TABLE_OWNERSHIP' : fact.privilege;
    case 'schema-ownership':
      return 'SCHEMA_OWNERSHIP';
    case 'routine':
      return ROUTINE_PRIVILEGES[`${fact.kind} ${fact.privilege}`];
    case 'queries':
      return QUERY_PRIVILEGES[fact.right];
    case 'system-information':
      return fact.right === 'read' ? 'READ_SYSTEM_INFORMATION' : 'WRITE_SYSTEM_INFORMATION';
    case 'impersonation':
      return 'IMPERSONATE';
    case 'table-procedures':
    case 'catalog-mode':
    case 'session-property':
      return undefined;
  }
}

const QUERY_PRIVILEGES = { execute: 'EXECUTE_QUERIES', view: 'VIEW_QUERIES', kill: 'KILL_QUERIES' } as const;
const ROUTINE_PRIVILEGES: Readonly<Record<string, Privilege>> = {
  'function EXECUTE': 'EXECUTE_FUNCTION',
  'function GRANT_EXECUTE': 'GRANT_EXECUTE_FUNCTION',
  'procedure EXECUTE': 'CALL_PROCEDURE',
};

/** `ana may SELECT from lake.hr.people, with the real value of ssn` */
export function breachText(
  { kind }: Guarantee,
  { scope, fact }: Pick<Witness, 'scope' | 'fact'>,
  person: string,
): string {
  const verb = kind === 'always' ? 'may not' : 'may';
  const only = scope.column === undefined ? '' : `, with the real value of ${scope.column}`;
  return `${displayName(person, 'anybody else')} ${verb} ${describePermission(fact)}${only}`;
}
