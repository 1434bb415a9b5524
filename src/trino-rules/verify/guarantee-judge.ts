import { getOrInsert } from '../../kernel/collections.js';
import { READERS_FILTER } from '../document/rules-document.js';
import {
  type AccessFact,
  describePermission,
  displayName,
  isRestriction,
  pathOf,
  type Restriction,
} from '../engine/access-fact.js';
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
import { scopeIncludes } from '../model/guarantee-breaches.js';
import type { Guarantee, GuaranteeScope } from '../model/guarantee.js';
import { namedBy, type Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import { PRIVILEGE_TERMS, type Privilege } from '../model/privilege.js';

/** The users of an evaluation, by their positions. */
export interface JudgedUsers {
  width: number;
  /** Positions of a principal's members, without service accounts. */
  positionsOf(principal: PolicyPrincipal): Iterable<number>;
  /** Positions of the users with a name on the engine. */
  named(name: string): readonly number[];
  /** Whether a position represents any number of users. */
  isUnnamed(position: number): boolean;
  /** A scope on everything leaves this catalog out; null: there is none. */
  metadataCatalog: string | null;
}

/** A user at a node, and a privilege that breaks a guarantee: held, or of `always` missing. */
export interface Witness {
  position: number;
  resource: Node;
  privilege: Privilege;
  /** What is asked of the engine. */
  fact: AccessFact;
}

export interface Verdict {
  guarantee: Guarantee;
  isBroken: boolean;
  /** Number of triples of user, node and privilege. */
  brokenBy: number;
  /**
   * The first breaches. For `apart` in pairs: the same user in the first scope and in the second. For `at_most` the counted users, also
   * where it holds.
   */
  witnesses: Witness[];
  checked: { principals: number; nodes: number };
}

/** Maximum of witnesses for each guarantee, where no other is given. */
export const MOST_WITNESSES = 20;

/** Judges guarantees by a document: `see` receives the holders of each fact at each node, one after the other. */
export class GuaranteeJudge {
  private readonly judged: readonly JudgedGuarantee[];
  /** The current table, until its restrictions are complete. */
  private reading: ReadTable | null = null;
  /** Scopes that the current schema can be in. */
  private near: { catalog?: string | undefined; schema?: string | undefined; scopes: readonly JudgedScope[] };
  /** Scopes of the current node, also by what a fact asks for; null: of facts without a node. */
  private here: { node: Node | null; scopes: readonly JudgedScope[]; asked: Map<string, readonly Asked[]> } | undefined;

  constructor(guarantees: readonly Guarantee[], users: JudgedUsers, most = MOST_WITNESSES) {
    this.judged = guarantees.map((guarantee) => new JudgedGuarantee(guarantee, users, most));
    this.near = { catalog: NOWHERE, scopes: [] };
  }

  /** @param holders users of the fact, at the active words. Restrictions of a table come after its privileges. */
  see(fact: AccessFact, active: Uint32Array, holders: Bitset): void {
    if (isRestriction(fact)) {
      if (this.reading?.asked.some(({ scope }) => restricts(fact, scope.of)))
        this.reading.restrictions.push({ fact, users: holders.slice() });
      return;
    }
    const asked = this.askedBy(fact);
    if (fact.about === 'privilege' && fact.privilege === 'SELECT') {
      this.endTable();
      const refined = asked.filter(({ scope }) => isRefined(scope.of));
      if (refined.length > 0)
        this.reading = { fact, asked: refined, active: active.slice(), users: holders.slice(), restrictions: [] };
    }
    for (const { scope, privilege } of asked)
      if (!isRefined(scope.of) && scope.isAbout(fact)) scope.judged.record(scope, privilege, fact, active, holders);
  }

  verdicts(): Verdict[] {
    this.endTable();
    return this.judged.map((each) => each.verdict());
  }

  private askedBy(fact: AccessFact): readonly Asked[] {
    const node = 'resource' in fact ? fact.resource : null;
    if (this.here?.node !== node) {
      const near = this.nearTo(node ?? {});
      const scopes = node === null ? near : near.filter((scope) => scope.includes(node));
      this.here = { node, scopes, asked: new Map() };
    }
    const { scopes, asked } = this.here;
    return getOrInsert(asked, termsOf(fact), () =>
      scopes.flatMap((scope): Asked[] => {
        const privilege = scope.of.privileges.find((each) => isOf(each, fact));
        return privilege === undefined ? [] : [{ scope, privilege }];
      }),
    );
  }

  private nearTo({ catalog, schema }: Node): readonly JudgedScope[] {
    if (this.near.catalog !== catalog || this.near.schema !== schema) {
      const scopes = this.judged.flatMap((each) => each.scopes.filter((scope) => scope.isNear(catalog, schema)));
      this.near = { catalog, schema, scopes };
    }
    return this.near.scopes;
  }

  /** The restrictions of a table are complete when the next table begins. */
  private endTable(): void {
    if (this.reading === null) return;
    const { fact, asked, active, users, restrictions } = this.reading;
    this.reading = null;
    for (const { scope, privilege } of asked) {
      const reading = users.slice();
      for (const each of restrictions) if (restricts(each.fact, scope.of)) removeAll(reading, each.users);
      scope.judged.record(scope, privilege, fact, active, reading);
    }
  }
}

/** A name that no catalog has. */
const NOWHERE = '\0';

/** A scope that a fact is within, and the privilege that the fact gives. */
interface Asked {
  scope: JudgedScope;
  privilege: Privilege;
}

/** A table, the refined scopes that it is in, its readers at the active words, and what restricts them. */
interface ReadTable {
  fact: AccessFact;
  asked: readonly Asked[];
  active: Uint32Array;
  users: Bitset;
  restrictions: { fact: Restriction; users: Bitset }[];
}

/** A scope, and the users who have a privilege in it. */
class JudgedScope {
  readonly users: Bitset;
  /** The first witness of each. */
  readonly first = new Map<number, Witness>();
  /** Positions of the impersonated users or of the owners of queries; null: the scope names neither. */
  private readonly others: ReadonlySet<number> | null;

  constructor(
    readonly of: GuaranteeScope,
    readonly judged: JudgedGuarantee,
  ) {
    const { users } = judged;
    const named = namedBy(of.resource);
    this.users = new Uint32Array(users.width);
    this.others = named === undefined ? null : new Set(users.positionsOf(named));
  }

  isNear(catalog: string | undefined, schema: string | undefined): boolean {
    const { resource } = this.of;
    return (
      (resource.catalog === undefined || resource.catalog === catalog) &&
      (resource.schema === undefined || resource.schema === schema)
    );
  }

  /** `always` leaves companions out. */
  includes(node: Node): boolean {
    const { guarantee, users } = this.judged;
    if (guarantee.kind === 'always' && node.table?.includes('$') === true) return false;
    const isClosed = this.of.resource.catalog === undefined && node.catalog === users.metadataCatalog;
    return !isClosed && scopeIncludes(this.of, node);
  }

  /** Whether the scope includes a fact without a node; true for any other fact. */
  isAbout(fact: AccessFact): boolean {
    if ('resource' in fact) return true;
    if (this.others === null) return this.of.resource.engine === true;
    return this.judged.ownersOf(fact).some((position) => this.others?.has(position));
  }
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
    readonly guarantee: Guarantee,
    readonly users: JudgedUsers,
    private readonly most: number,
  ) {
    const { principal, except, scopes } = guarantee;
    const { width } = users;
    this.counted = bitset(width, users.positionsOf(principal));
    for (const each of except) removeAll(this.counted, bitset(width, users.positionsOf(each)));
    this.scopes = scopes.map((scope) => new JudgedScope(scope, this));
  }

  verdict(): Verdict {
    const { guarantee, witnesses, most, nodes } = this;
    const [first, second] = this.scopes;
    const checked = { principals: membersOf(this.counted).length, nodes };
    switch (guarantee.kind) {
      case 'never':
      case 'only':
      case 'always':
        return { guarantee, isBroken: this.brokenBy > 0, brokenBy: this.brokenBy, witnesses, checked };
      case 'apart': {
        const both = [...(first?.first.keys() ?? [])].filter((position) => second?.first.has(position));
        const pairs = both.flatMap((position) =>
          [first?.first.get(position) ?? [], second?.first.get(position) ?? []].flat(),
        );
        return {
          guarantee,
          isBroken: both.length > 0,
          brokenBy: both.length,
          witnesses: pairs.slice(0, 2 * most),
          checked,
        };
      }
      case 'at_most': {
        const positions = [...(first?.first.keys() ?? [])];
        const isBroken = positions.length > guarantee.count || positions.some((each) => this.users.isUnnamed(each));
        const found = [...(first?.first.values() ?? [])].slice(0, most);
        return { guarantee, isBroken, brokenBy: isBroken ? positions.length : 0, witnesses: found, checked };
      }
    }
  }

  record(scope: JudgedScope, privilege: Privilege, fact: AccessFact, active: Uint32Array, holders: Bitset): void {
    const { kind } = this.guarantee;
    const resource = 'resource' in fact ? fact.resource : scope.of.resource;
    if (this.asked !== resource) this.nodes += 1;
    this.asked = resource;
    // The engine always allows access to own queries and impersonation of oneself.
    const own = kind === 'always' && !('resource' in fact) ? bitset(this.users.width, this.ownersOf(fact)) : NOBODY;
    for (const index of active) {
      const has = wordAt(holders, index);
      const found = wordAt(this.counted, index) & (kind === 'always' ? ~has & ~wordAt(own, index) : has);
      if (found === 0) continue;
      if (kind === 'apart' || kind === 'at_most') {
        const more = found & ~wordAt(scope.users, index);
        for (const position of members(index, more)) scope.first.set(position, { position, resource, privilege, fact });
        addWord(scope.users, index, more);
        continue;
      }
      this.brokenBy += countMembers(found);
      if (this.witnesses.length === this.most) continue;
      for (const position of members(index, found).slice(0, this.most - this.witnesses.length))
        this.witnesses.push({ position, resource, privilege, fact });
    }
  }

  /** The owners of queries, or the impersonated users, that a fact names. */
  ownersOf(fact: AccessFact): readonly number[] {
    const name = fact.about === 'queries' ? fact.owner : fact.about === 'impersonation' ? fact.newUser : undefined;
    return name === undefined ? [] : this.users.named(name);
  }
}

const NOBODY: Bitset = new Uint32Array(0);

function isRefined({ column, isUnfiltered }: GuaranteeScope): boolean {
  return column !== undefined || isUnfiltered;
}

function restricts(fact: Restriction, { column, isUnfiltered }: GuaranteeScope): boolean {
  if (fact.about === 'row-filter') return isUnfiltered && fact.expression !== READERS_FILTER;
  return fact.column === column;
}

/** Equal for facts that the same privileges give. */
function termsOf(fact: AccessFact): string {
  const given = 'privilege' in fact ? fact.privilege : 'right' in fact ? fact.right : '';
  return `${fact.about} ${given} ${'kind' in fact ? fact.kind : ''}`;
}

function isOf(privilege: Privilege, fact: AccessFact): boolean {
  const { onTables, ownsSchemas, runs } = PRIVILEGE_TERMS[privilege];
  switch (fact.about) {
    case 'privilege':
      return onTables === fact.privilege;
    case 'schema-ownership':
      return ownsSchemas;
    case 'routine':
      return runs?.kind === fact.kind && runs.privilege === fact.privilege;
    case 'queries':
      return privilege === QUERY_PRIVILEGES[fact.right];
    case 'system-information':
      return privilege === (fact.right === 'read' ? 'READ_SYSTEM_INFORMATION' : 'WRITE_SYSTEM_INFORMATION');
    case 'impersonation':
      return privilege === 'IMPERSONATE';
    case 'table-procedures':
    case 'catalog-mode':
    case 'session-property':
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask':
      return false;
  }
}

const QUERY_PRIVILEGES = { execute: 'EXECUTE_QUERIES', view: 'VIEW_QUERIES', kill: 'KILL_QUERIES' } as const;

/** `ana may SELECT from lake.hr.people, with the real value of ssn`. @param place among the witnesses, which come in pairs for `apart` */
export function breachText({ kind, scopes }: Guarantee, place: number, person: string, fact: AccessFact): string {
  const verb = kind === 'always' ? 'may not' : 'may';
  const what = isRestriction(fact) ? pathOf(fact.resource) : describePermission(fact);
  const { column } = scopes[place % scopes.length] ?? {};
  const only = column === undefined ? '' : `, with the real value of ${column}`;
  return `${displayName(person, 'anybody else')} ${verb} ${what}${only}`;
}
