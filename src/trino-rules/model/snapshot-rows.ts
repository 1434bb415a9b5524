import { foldedName, nameProblem, resourceNameProblem } from '../../kernel/name.js';
import { type Level, LEVELS, misplacedField, type Node, NODE_FIELDS, type NodeFields, nodeOf } from './node.js';
import { holderProblem, orderedPrivileges, type Privilege, privilegesOn } from './privilege.js';
import { closedProblem, type ColumnResource, restrictionProblem } from './resource.js';
import type { SnapshotDecoder } from './snapshot-decoder.js';
import {
  POLICY_KINDS,
  type SnapshotGrant,
  type SnapshotGroup,
  type SnapshotPolicy,
  type SnapshotSettings,
  type SnapshotUser,
} from './snapshot.js';
import { expressionProblem } from './sql-expression.js';
import { type GroupMember, type PolicyPrincipal, type Principal, PRINCIPAL_TYPES } from './principal.js';

/** Reads the grants and policies of a snapshot file. */
export class SnapshotRows {
  constructor(
    private readonly form: SnapshotDecoder,
    private readonly names: SnapshotNames,
    private readonly settings: Pick<SnapshotSettings, 'metadataCatalog'>,
  ) {}

  grant(value: unknown, path: string, id: number): SnapshotGrant {
    const row = this.form.object(value, path, GRANT_KEYS);
    const principal = this.names.policyPrincipal(row.principal, `${path}.principal`);
    const resource = this.resource(row.resource, `${path}.resource`);
    const privileges = this.privileges(row.privileges, `${path}.privileges`, privilegesOn(resource));
    const problem = holderProblem(privileges, principal);
    if (problem !== null) this.form.addProblem(`${path}.principal`, problem);
    return {
      id,
      principal,
      resource,
      privileges,
      expiresAt: this.instant(row.expires_at, `${path}.expires_at`),
      revokedAt: this.instant(row.revoked_at, `${path}.revoked_at`),
    };
  }

  policy(value: unknown, path: string, id: number): SnapshotPolicy {
    const row = this.form.object(value, path, POLICY_KEYS);
    const kind = this.form.oneOf(row.kind, `${path}.kind`, POLICY_KINDS) ?? 'deny';
    const base = {
      id,
      principal: this.names.policyPrincipal(row.principal, `${path}.principal`),
      except: this.form.list(row.except ?? [], `${path}.except`, (item, at) => this.names.principal(item, at)),
    };
    if (kind !== 'row_filter' && kind !== 'column_mask') this.requireAbsent(row.expression, `${path}.expression`, kind);
    if (kind !== 'deny') this.requireAbsent(row.privileges, `${path}.privileges`, kind);
    const at = `${path}.resource`;
    const expression = (): string => this.form.text(row.expression, `${path}.expression`, expressionProblem);
    switch (kind) {
      case 'row_filter': {
        const resource = this.withData(() => this.resource(row.resource, at), at);
        return { ...base, kind, resource, expression: expression() };
      }
      case 'column_mask':
        return { ...base, kind, resource: this.column(row.resource, at), expression: expression() };
      case 'hidden_column':
        return { ...base, kind, resource: this.column(row.resource, at) };
      case 'deny': {
        const resource = this.resource(row.resource, at);
        const choices = privilegesOn(resource);
        const privileges = this.privileges(row.privileges ?? choices, `${path}.privileges`, choices);
        return { ...base, kind, resource, privileges };
      }
    }
  }

  resource(value: unknown, path: string): Node {
    return this.node(this.form.object(value, path, NODE_FIELDS), path);
  }

  /** A node on which filters, masks and hidden columns can be. */
  private withData(read: () => Node, path: string): Node {
    const known = this.form.problems.length;
    const node = read();
    const problem = restrictionProblem(node);
    if (problem !== null && this.form.problems.length === known) this.form.addProblem(path, problem);
    return node;
  }

  private column(value: unknown, path: string): ColumnResource {
    const { column, ...node } = this.form.object(value, path, [...LEVELS, 'column']);
    return { ...this.withData(() => this.node(node, path), path), column: this.name(column, `${path}.column`) };
  }

  private node(fields: NodeFields, path: string): Node {
    const misplaced = misplacedField(fields);
    if (misplaced !== null) this.form.addProblem(`${path}.${misplaced.field}`, misplaced.message);
    const name = (field: Level | 'routine') =>
      fields[field] === undefined ? null : this.name(fields[field], `${path}.${field}`);
    const named = (field: 'as' | 'queries') =>
      fields[field] === undefined ? {} : { [field]: this.names.policyPrincipal(fields[field], `${path}.${field}`) };
    const resource = nodeOf({
      ...{ catalog: name('catalog'), schema: name('schema'), table: name('table'), routine: name('routine') },
      ...(fields.engine === true && { engine: true }),
      ...named('as'),
      ...named('queries'),
    });
    const problem = closedProblem(resource, this.settings.metadataCatalog);
    if (problem !== null && misplaced === null) this.form.addProblem(path, problem);
    return resource;
  }

  private name(value: unknown, path: string): string {
    return this.form.text(value, path, resourceNameProblem);
  }

  privileges(value: unknown, path: string, choices: readonly Privilege[]): Privilege[] {
    const read = this.form.list(value, path, (item, at) => this.form.oneOf(item, at, choices) ?? []).flat();
    if (Array.isArray(value) && value.length === 0) this.form.addProblem(path, 'must name at least one privilege');
    return orderedPrivileges(read);
  }

  private instant(value: unknown, path: string): Date | null {
    return value === undefined || value === null ? null : this.form.instant(value, path);
  }

  private requireAbsent(value: unknown, path: string, kind: string): void {
    if (value !== undefined && value !== null) this.form.addProblem(path, `means nothing in a ${kind}`);
  }
}

const KEYS = ['id', 'principal', 'resource', 'privileges', 'description'] as const;
const GRANT_KEYS = [...KEYS, 'expires_at', 'revoked_at'] as const;
const POLICY_KEYS = [...KEYS, 'kind', 'except', 'expression'] as const;

interface Lookup {
  ids: ReadonlySet<number>;
  byName: ReadonlyMap<unknown, number>;
}

/** The principals of a snapshot file, by id or by name; no name is ambiguous. */
export class SnapshotNames {
  /** Kind of holder, by folded name. */
  private readonly holders = new Map<string, string>();
  private readonly engineNames = new Map<string, string>();
  private readonly known: Record<'user' | 'group', Lookup>;

  constructor(
    private readonly form: SnapshotDecoder,
    users: readonly SnapshotUser[],
    groups: readonly Pick<SnapshotGroup, 'id' | 'name'>[],
    settings: Pick<SnapshotSettings, 'serviceAccounts'>,
    private readonly unknownUser: (name: string) => string = () => 'names no user of this file',
    private readonly place = 'of this file',
  ) {
    for (const name of settings.serviceAccounts) this.holders.set(foldedName(name), 'a service account');
    users.forEach(({ name }, i) => {
      this.claim(name, `users[${i}].name`);
    });
    const groupNames = new Set<string>();
    groups.forEach(({ name }, i) => {
      if (name !== '' && groupNames.has(foldedName(name)))
        form.addProblem(`groups[${i}].name`, 'is the name of another group');
      groupNames.add(foldedName(name));
    });
    this.known = { user: lookup(users), group: lookup(groups) };
  }

  principal(value: unknown, path: string): Principal {
    const { type, id, name } = this.form.object(value, path, ['type', 'id', 'name']);
    switch (this.form.oneOf<Principal['type']>(type, `${path}.type`, PRINCIPAL_TYPES)) {
      case 'user':
        return { type: 'user', id: this.find('user', id, name, path) };
      case 'group':
        return { type: 'group', id: this.find('group', id, name, path) };
      case 'engine':
        if (id !== undefined) this.form.addProblem(`${path}.id`, 'an engine principal has a name only');
        return { type: 'engine', name: this.engineName(name, `${path}.name`) };
      case undefined:
        return { type: 'user', id: 0 };
    }
  }

  policyPrincipal(value: unknown, path: string): PolicyPrincipal {
    const { type } = typeof value === 'object' && value !== null && 'type' in value ? value : { type: undefined };
    if (type !== 'everyone') return this.principal(value, path);
    this.form.object(value, path, ['type']);
    return { type };
  }

  /** A member of a group: an account's id or its name, or an engine principal as `{"engine": name}`. */
  member(value: unknown, path: string): GroupMember {
    if (typeof value === 'string') return { type: 'user', id: this.find('user', undefined, value, path) };
    if (typeof value !== 'object') return { type: 'user', id: this.find('user', value, undefined, path) };
    const { engine } = this.form.object(value, path, ['engine']);
    return { type: 'engine', name: this.engineName(engine, `${path}.engine`) };
  }

  private find(kind: 'user' | 'group', id: unknown, name: unknown, path: string): number {
    const { ids, byName } = this.known[kind];
    const found = name === undefined ? id : byName.get(name);
    if (typeof found === 'number' && ids.has(found) && (id === undefined || id === found)) return found;
    const isUnknown = kind === 'user' && typeof name === 'string' && !byName.has(name);
    this.form.addProblem(path, isUnknown ? this.unknownUser(name) : `names no ${kind} ${this.place}`);
    return 0;
  }

  private engineName(value: unknown, path: string): string {
    const name = this.form.text(value, path, nameProblem);
    const holder = this.holders.get(foldedName(name));
    if (holder !== undefined) {
      const remedy = holder === 'an account' ? FOR_A_PERSON : '';
      this.form.addProblem(path, `is the name of ${holder}, not of an engine principal${remedy}`);
    }
    const spelling = this.engineNames.get(foldedName(name)) ?? name;
    if (spelling !== name) this.form.addProblem(path, `differs from the engine principal ${spelling} in case only`);
    this.engineNames.set(foldedName(name), spelling);
    return name;
  }

  private claim(name: string, path: string): void {
    const holder = this.holders.get(foldedName(name));
    if (holder === undefined) this.holders.set(foldedName(name), 'an account');
    else if (name !== '') this.form.addProblem(path, `is the name of ${holder} already`);
  }
}

const FOR_A_PERSON =
  ': give the program another name, or mark the person in the list of users (user: before the name) and import again';

function lookup(rows: readonly { id: number; name: string }[]): Lookup {
  return { ids: new Set(rows.map(({ id }) => id)), byName: new Map(rows.map(({ id, name }) => [name, id])) };
}
