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
import { speaksOf } from '../model/guarantee-breaches.js';
import type { Guarantee, GuaranteeKind, GuaranteeScope } from '../model/guarantee.js';
import type { Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import { PRIVILEGE_TERMS, type Privilege } from '../model/privilege.js';

/** The users of an evaluation, by their positions. */
export interface JudgedUsers {
  width: number;
  /** Positions of a principal's members, without service accounts. */
  positionsOf(principal: PolicyPrincipal): Iterable<number>;
  /** Positions of the users with a name on the engine. */
  named(name: string): readonly number[];
  /** Whether a position stands for any number of users. */
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
  /** The guarantees with a scope that the current schema can be in. */
  private near: { schema: string | null; judged: readonly JudgedGuarantee[] } = { schema: null, judged: [] };

  constructor(guarantees: readonly Guarantee[], users: JudgedUsers, most = MOST_WITNESSES) {
    this.judged = guarantees.map((guarantee) => new JudgedGuarantee(guarantee, users, most));
  }

  /** @param holders users of the fact, at the active words. Restrictions of a table come after its privileges. */
  see(fact: AccessFact, active: Uint32Array, holders: Bitset): void {
    if (isRestriction(fact)) {
      this.reading?.restrictions.push({ fact, users: holders.slice() });
      return;
    }
    if (fact.about === 'privilege' && fact.privilege === 'SELECT') {
      this.endTable();
      if (this.judgedAt(fact).some(({ isRefined }) => isRefined))
        this.reading = { fact, active: active.slice(), users: holders.slice(), restrictions: [] };
    }
    for (const each of this.judgedAt(fact)) each.see(fact, active, holders);
  }

  verdicts(): Verdict[] {
    this.endTable();
    return this.judged.map((each) => each.verdict());
  }

  private judgedAt(fact: AccessFact): readonly JudgedGuarantee[] {
    const { catalog = '', schema = '' } = 'resource' in fact ? fact.resource : {};
    const at = `${catalog}\0${schema}`;
    if (this.near.schema !== at)
      this.near = { schema: at, judged: this.judged.filter((each) => each.isNear(catalog, schema)) };
    return this.near.judged;
  }

  /** The restrictions of a table are complete when the next table begins. */
  private endTable(): void {
    if (this.reading === null) return;
    const { fact, active, users, restrictions } = this.reading;
    this.reading = null;
    for (const each of this.judgedAt(fact)) each.seeReading(fact, active, users, restrictions);
  }
}

/** A table, its readers at the active words, and what restricts them. */
interface ReadTable {
  fact: AccessFact;
  active: Uint32Array;
  users: Bitset;
  restrictions: RestrictedSet[];
}

interface RestrictedSet {
  fact: Restriction;
  users: Bitset;
}

/** A guarantee and what has been seen of it. */
class JudgedGuarantee {
  /** Whether a scope is about a column's real value or unfiltered rows. */
  readonly isRefined: boolean;
  /** Users who can break it. */
  private readonly counted: Bitset;
  /** By scope: users with a privilege in it, and the first witness of each. */
  private readonly held: { users: Bitset; first: Map<number, Witness> }[];
  private readonly witnesses: Witness[] = [];
  private brokenBy = 0;
  private nodes = 0;
  /** The last node that was asked about. */
  private asked: Node | null = null;

  constructor(
    private readonly guarantee: Guarantee,
    private readonly users: JudgedUsers,
    private readonly most: number,
  ) {
    const { principal, except, scopes } = guarantee;
    const { width } = users;
    this.counted = bitset(width, users.positionsOf(principal));
    for (const each of except) removeAll(this.counted, bitset(width, users.positionsOf(each)));
    this.held = scopes.map(() => ({ users: new Uint32Array(width), first: new Map() }));
    this.isRefined = scopes.some(isRefined);
  }

  /** @param catalog and `schema`: empty for none */
  isNear(catalog: string, schema: string): boolean {
    return this.guarantee.scopes.some(
      ({ resource }) =>
        (resource.catalog === undefined || resource.catalog === catalog) &&
        (resource.schema === undefined || resource.schema === schema),
    );
  }

  see(fact: AccessFact, active: Uint32Array, holders: Bitset): void {
    for (const [index, scope] of this.guarantee.scopes.entries()) {
      if (isRefined(scope)) continue;
      const asked = askedIn(scope, fact, this.guarantee.kind, this.users);
      if (asked !== null) this.record(index, asked, fact, active, holders);
    }
  }

  /** As `see`, for scopes about a column's real value or unfiltered rows. */
  seeReading(fact: AccessFact, active: Uint32Array, holders: Bitset, restrictions: readonly RestrictedSet[]): void {
    for (const [index, scope] of this.guarantee.scopes.entries()) {
      if (!isRefined(scope)) continue;
      const asked = askedIn(scope, fact, this.guarantee.kind, this.users);
      if (asked === null) continue;
      const reading = holders.slice();
      for (const each of restrictions) if (restricts(each.fact, scope)) removeAll(reading, each.users);
      this.record(index, asked, fact, active, reading);
    }
  }

  verdict(): Verdict {
    const { guarantee, witnesses, most, nodes } = this;
    const [first, second] = this.held;
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

  private record(
    scope: number,
    { resource, privilege }: Asked,
    fact: AccessFact,
    active: Uint32Array,
    holders: Bitset,
  ): void {
    const { kind } = this.guarantee;
    const held = this.held[scope];
    const node = 'resource' in fact ? fact.resource : resource;
    if (this.asked !== node) this.nodes += 1;
    this.asked = node;
    const owners = kind === 'always' ? this.ownersOf(fact) : [];
    const own = owners.length === 0 ? NOBODY : bitset(this.users.width, owners);
    for (const index of active) {
      const has = wordAt(holders, index);
      const found = wordAt(this.counted, index) & (kind === 'always' ? ~has & ~wordAt(own, index) : has);
      if (found === 0) continue;
      this.brokenBy += countMembers(found);
      if (kind === 'apart' || kind === 'at_most') {
        const more = found & ~wordAt(held?.users ?? NOBODY, index);
        for (const position of members(index, more)) held?.first.set(position, { position, resource, privilege, fact });
        if (held) addWord(held.users, index, more);
      } else if (this.witnesses.length < this.most) {
        for (const position of members(index, found).slice(0, this.most - this.witnesses.length))
          this.witnesses.push({ position, resource, privilege, fact });
      }
    }
  }

  /** The engine opens one's own queries, and acting as oneself, without asking. */
  private ownersOf(fact: AccessFact): readonly number[] {
    const name = fact.about === 'queries' ? fact.owner : fact.about === 'impersonation' ? fact.newUser : undefined;
    return name === undefined ? [] : this.users.named(name);
  }
}

const NOBODY: Bitset = new Uint32Array(0);

interface Asked {
  resource: Node;
  privilege: Privilege;
}

function isRefined({ column, isUnfiltered }: GuaranteeScope): boolean {
  return column !== undefined || isUnfiltered;
}

function restricts(fact: Restriction, { column, isUnfiltered }: GuaranteeScope): boolean {
  if (fact.about === 'row-filter') return isUnfiltered && fact.expression !== READERS_FILTER;
  return fact.column === column;
}

/** The privilege and node of a fact within a scope; null: the fact is outside. `always` leaves companions out. */
function askedIn(scope: GuaranteeScope, fact: AccessFact, kind: GuaranteeKind, users: JudgedUsers): Asked | null {
  const privilege = scope.privileges.find((each) => isOf(each, fact));
  if (privilege === undefined) return null;
  const { resource } = scope;
  const named = resource.as ?? resource.queries;
  if (fact.about === 'impersonation' || (fact.about === 'queries' && named !== undefined)) {
    const name = fact.about === 'impersonation' ? fact.newUser : fact.owner;
    const positions = name === undefined ? [] : users.named(name);
    const isNamed = named !== undefined && [...users.positionsOf(named)].some((each) => positions.includes(each));
    return isNamed ? { resource, privilege } : null;
  }
  if (fact.about === 'queries' || fact.about === 'system-information')
    return resource.engine ? { resource, privilege } : null;
  if (kind === 'always' && 'resource' in fact && fact.resource.table?.includes('$') === true) return null;
  const isClosed =
    resource.catalog === undefined && 'resource' in fact && fact.resource.catalog === users.metadataCatalog;
  return !isClosed && 'resource' in fact && speaksOf(scope, fact.resource)
    ? { resource: fact.resource, privilege }
    : null;
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
