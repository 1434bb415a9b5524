import type { PolicySubject, Principal } from '../../src/grants/domain/principal.js';
import { PRIVILEGES, type Privilege } from '../../src/grants/domain/privilege.js';
import type { Resource } from '../../src/grants/domain/resource.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../../src/grants/domain/snapshot.js';

type NewPolicy = SnapshotPolicy extends infer P
  ? P extends SnapshotPolicy
    ? Omit<P, 'id' | 'principal' | 'except'>
    : never
  : never;

/** Settings that give the service's own account one catalog to write to and nobody else anything. */
export const PLAIN_SETTINGS: SnapshotSettings = {
  ownAccount: 'service-account-grantline',
  serviceAccounts: ['service-account-grantline'],
  writableCatalogs: ['lake'],
  readableCatalogs: [],
  metadataCatalog: 'grantline',
  impersonation: true,
  sessionProperties: [],
};

/** A snapshot told as a story: says only what matters to a test. People exist as soon as they are mentioned. */
export function aWorld(): World {
  return new World();
}

/** `may`, `mayNot`, `sees…` speak of whoever was mentioned last; paths are `catalog.schema.table`, cut off where meant. */
export class World {
  private readonly users: { id: number; name: string; isActive: boolean }[] = [];
  private readonly groups: { id: number; name: string; members: number[] }[] = [];
  private readonly grants: SnapshotGrant[] = [];
  private readonly policies: SnapshotPolicy[] = [];
  private settings = PLAIN_SETTINGS;
  private at = new Date('2026-11-20T00:00:00.000Z');
  private who: PolicySubject = { type: 'everyone' };

  person(name: string): this {
    this.who = { type: 'user', id: this.userId(name) };
    return this;
  }

  group(name: string, members: readonly string[] = []): this {
    const known = this.groups.find((group) => group.name === name);
    const group = known ?? { id: this.groups.length + 1, name, members: [] };
    if (!known) this.groups.push(group);
    group.members.push(...members.map((member) => this.userId(member)));
    this.who = { type: 'group', id: group.id };
    return this;
  }

  enginePrincipal(name: string): this {
    this.who = { type: 'engine', name };
    return this;
  }

  everyone(): this {
    this.who = { type: 'everyone' };
    return this;
  }

  may(privileges: Privilege | readonly Privilege[], path: string, until: Date | null = null): this {
    if (this.who.type === 'everyone') throw new Error('grants name somebody');
    const listed = typeof privileges === 'string' ? [privileges] : privileges;
    const row = {
      principal: this.who,
      resource: resourceOf(path),
      privileges: listed,
      expiresAt: until,
      revokedAt: null,
    };
    this.grants.push({ id: this.grants.length + 1, ...row });
    return this;
  }

  mayNot(privileges: readonly Privilege[] | 'anything', path: string): this {
    return this.policy({
      kind: 'deny',
      resource: resourceOf(path),
      privileges: privileges === 'anything' ? PRIVILEGES : privileges,
    });
  }

  seesRows(expression: string, path: string): this {
    return this.policy({ kind: 'row_filter', resource: resourceOf(path), expression });
  }

  seesMasked(column: string, expression: string, path: string): this {
    return this.policy({ kind: 'column_mask', resource: { ...resourceOf(path), column }, expression });
  }

  seesNot(column: string, path: string): this {
    return this.policy({ kind: 'hidden_column', resource: { ...resourceOf(path), column } });
  }

  /** Leaves people or groups out of the policy that was said last. */
  except(...names: readonly string[]): this {
    const last = this.policies.pop();
    if (!last) throw new Error('there is no policy yet');
    const excepted = names.map((name): Principal => {
      const group = this.groups.find((known) => known.name === name);
      return group ? { type: 'group', id: group.id } : { type: 'user', id: this.userId(name) };
    });
    this.policies.push({ ...last, except: [...last.except, ...excepted] });
    return this;
  }

  deactivated(name: string): this {
    const id = this.userId(name);
    this.users.splice(id - 1, 1, { id, name, isActive: false });
    return this;
  }

  given(settings: Partial<SnapshotSettings>): this {
    this.settings = { ...this.settings, ...settings };
    return this;
  }

  on(at: Date): this {
    this.at = at;
    return this;
  }

  snapshot(): Snapshot {
    const { users, groups, grants, policies, settings, at } = this;
    return structuredClone({ users, groups, grants, policies, settings, at });
  }

  private policy(policy: NewPolicy): this {
    this.policies.push({ id: this.policies.length + 1, principal: this.who, except: [], ...policy });
    return this;
  }

  private userId(name: string): number {
    const known = this.users.find((user) => user.name === name);
    if (known) return known.id;
    this.users.push({ id: this.users.length + 1, name, isActive: true });
    return this.users.length;
  }
}

/** `sales.eu.orders` → the table; names with dots need a resource written out. */
export function resourceOf(path: string): Resource {
  const [catalog = '', schema, table] = path.split('.');
  return { catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) };
}
