import { Bits } from '../../grants/domain/bits.js';
import { PRIVILEGES, type Privilege } from '../../grants/domain/privilege.js';
import type { NameSpace } from './name-space.js';
import { RuleTrie } from './rule-trie.js';
import type { RulesDocument } from './rules-document.js';

/** What the rules give at one table, to whom: like the intent's sets, but out of the rules alone. */
export interface TableSets {
  privileges: Record<Privilege, Bits>;
  filters: ReadonlyMap<string, Bits>;
  hidden: ReadonlyMap<string, Bits>;
  masks: ReadonlyMap<string, ReadonlyMap<string, Bits>>;
}

export interface CatalogModes {
  all: Bits;
  readOnly: Bits;
}

/** The engine's answers to everybody at once. `Evaluator` says the same, one person at a time. */
export class EngineSets {
  readonly everybody: Bits;
  readonly nobody: Bits;
  readonly catalogs = new RuleTrie();
  readonly schemas = new RuleTrie();
  readonly tables = new RuleTrie();
  private readonly positions = new Map<string, number[]>();
  private readonly users = new Map<string, Bits>();

  /** @param names everybody who is asked about; their positions are the bits. */
  constructor(
    private readonly rules: RulesDocument,
    private readonly space: NameSpace,
    private readonly names: readonly string[],
  ) {
    this.nobody = Bits.none(names.length);
    this.everybody = Bits.of(names.length, names.keys());
    names.forEach((name, i) => this.positions.set(name, [...(this.positions.get(name) ?? []), i]));
    rules.catalogs.forEach((rule, i) => this.catalogs.add(i, [space.step(rule.catalog)]));
    rules.schemas.forEach((rule, i) => this.schemas.add(i, [space.step(rule.catalog), space.step(rule.schema)]));
    rules.tables.forEach((rule, i) => {
      this.tables.add(i, [space.step(rule.catalog), space.step(rule.schema), space.step(rule.table)]);
    });
  }

  modes(catalog: string): CatalogModes {
    let all = this.nobody;
    let readOnly = this.nobody;
    const rest = this.walk(this.catalogs.at([catalog]), this.rules.catalogs, ({ allow }, hit) => {
      if (allow === 'all') all = all.or(hit);
      if (allow === 'read-only') readOnly = readOnly.or(hit);
    });
    // The engine's own last rule of a catalogs section: everybody, `system`, all.
    return { all: catalog === 'system' ? all.or(rest) : all, readOnly };
  }

  schemaOwners(catalog: string, schema: string, modes: CatalogModes): Bits {
    let owners = this.nobody;
    this.walk(this.schemas.at([catalog, schema]), this.rules.schemas, ({ owner }, hit) => {
      if (owner) owners = owners.or(hit);
    });
    return owners.and(modes.all);
  }

  at(catalog: string, schema: string, table: string, modes: CatalogModes): TableSets {
    const given = Object.fromEntries(PRIVILEGES.map((privilege) => [privilege, this.nobody]));
    const filters = new Map<string, Bits>();
    const hidden = new Map<string, Bits>();
    const masks = new Map<string, Map<string, Bits>>();
    this.walk(this.tables.at([catalog, schema, table]), this.rules.tables, (rule, hit) => {
      for (const privilege of rule.privileges) given[privilege] = hit.or(given[privilege] ?? this.nobody);
      if (rule.filter !== undefined) addTo(filters, rule.filter, hit);
      for (const { name, allow, mask } of rule.columns ?? []) {
        if (allow === false) addTo(hidden, name, hit);
        else if (mask !== undefined) addTo(getOrMake(masks, name), mask, hit);
      }
    });
    const may = (privilege: Privilege, among: Bits): Bits => (given[privilege] ?? this.nobody).and(among);
    const privileges = {
      SELECT: may('SELECT', modes.all.or(modes.readOnly)).or(may('GRANT_SELECT', modes.all.or(modes.readOnly))),
      INSERT: may('INSERT', modes.all),
      DELETE: may('DELETE', modes.all),
      UPDATE: may('UPDATE', modes.all),
      OWNERSHIP: may('OWNERSHIP', modes.all),
      GRANT_SELECT: may('GRANT_SELECT', modes.all),
    };
    return { privileges, filters, hidden, masks };
  }

  /** Those whom a pattern of users means. */
  usersOf(pattern: string | undefined): Bits {
    const meaning = this.space.meaning(pattern);
    if (meaning.kind === 'any') return this.everybody;
    const known = this.users.get(pattern ?? '');
    if (known) return known;
    const named = meaning.kind === 'names' ? meaning.names : this.space.among(pattern, this.names);
    const users = Bits.of(
      this.names.length,
      [...named].flatMap((name) => this.positions.get(name) ?? []),
    );
    this.users.set(pattern ?? '', users);
    return users;
  }

  /** Goes through rules as the engine does, for everybody at once; returns those whom none of them matches. */
  walk<Rule extends { user?: string | undefined }>(
    indexes: readonly number[],
    rules: readonly Rule[],
    decided: (rule: Rule, hit: Bits) => void,
  ): Bits {
    let rest = this.everybody;
    for (const index of indexes) {
      const rule = rules[index];
      if (rule === undefined) continue;
      const hit = this.usersOf(rule.user).and(rest);
      if (hit.isEmpty()) continue;
      rest = rest.minus(hit);
      decided(rule, hit);
    }
    return rest;
  }

  /** Those of this very name: two where the snapshot gives a name twice. */
  usersNamed(name: string): Bits {
    return Bits.of(this.names.length, this.positions.get(name) ?? []);
  }
}

export function addTo(sets: Map<string, Bits>, key: string, members: Bits): void {
  sets.set(key, sets.get(key)?.or(members) ?? members);
}

function getOrMake(masks: Map<string, Map<string, Bits>>, column: string): Map<string, Bits> {
  const known = masks.get(column) ?? new Map<string, Bits>();
  masks.set(column, known);
  return known;
}
