import { nodeOf, type Node } from '../../../src/trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../../src/trino-rules/model/principal.js';
import { PRIVILEGES, type Privilege, privilegesOn } from '../../../src/trino-rules/model/privilege.js';
import type { ColumnResource } from '../../../src/trino-rules/model/resource.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotSettings,
  SnapshotUser,
} from '../../../src/trino-rules/model/snapshot.js';

export const NOW = new Date('2026-11-20T12:00:00.000Z');

export const SETTINGS: SnapshotSettings = {
  ownAccount: 'service-account-grantline',
  serviceAccounts: ['service-account-grantline'],
  writableCatalogs: ['lake'],
  readableCatalogs: ['tpch'],
  metadataCatalog: 'grantline',
  impersonation: true,
  sessionProperties: [],
  readersMaintain: false,
  externalTableCatalogs: [],
  rawColumnCatalogs: [],
};

/**
 * Builds a small snapshot: a call selects a principal, the next ones add its grants and policies.
 * Users are created when they are first named. Paths are written `catalog.schema.table`, of a routine `catalog.schema.routine()`;
 * an empty one is everything. Nodes beside the tree are written as they are.
 */
export function aSnapshot(): SnapshotBuilder {
  return new SnapshotBuilder();
}

class SnapshotBuilder {
  private readonly users: SnapshotUser[] = [];
  private readonly groups: SnapshotGroup[] = [];
  private readonly grants: SnapshotGrant[] = [];
  private readonly policies: SnapshotPolicy[] = [];
  private settings: SnapshotSettings = SETTINGS;
  private principal: PolicyPrincipal = { type: 'everyone' };

  user(name: string): this {
    this.principal = { type: 'user', id: this.userId(name) };
    return this;
  }

  group(name: string, members: readonly string[], engines: readonly string[] = []): this {
    const id = this.groups.length + 1;
    this.groups.push({ id, name, members: members.map((member) => this.userId(member)), engines });
    this.principal = { type: 'group', id };
    return this;
  }

  engine(name: string): this {
    this.principal = { type: 'engine', name };
    return this;
  }

  everyone(): this {
    this.principal = { type: 'everyone' };
    return this;
  }

  /** `privileges` as in `SELECT, INSERT`. */
  may(privileges: string, path: string | Node, when: { expiresAt?: Date; revokedAt?: Date } = {}): this {
    const { expiresAt = null, revokedAt = null } = when;
    const id = this.grants.length + 1;
    this.grants.push({
      id,
      principal: this.principal,
      resource: at(path),
      privileges: read(privileges),
      expiresAt,
      revokedAt,
    });
    return this;
  }

  /** Without privileges: all that can be given there. */
  mayNot(path: string | Node, privileges?: string, ...except: Principal[]): this {
    const resource = at(path);
    const denied = privileges === undefined ? privilegesOn(resource) : read(privileges);
    return this.policy({ ...this.about(except), kind: 'deny', resource, privileges: denied });
  }

  seesOnly(path: string, expression: string, ...except: Principal[]): this {
    return this.policy({ ...this.about(except), kind: 'row_filter', resource: at(path), expression });
  }

  seesMasked(path: string, column: string, expression: string, ...except: Principal[]): this {
    return this.policy({ ...this.about(except), kind: 'column_mask', resource: of(path, column), expression });
  }

  doesNotSee(path: string, column: string, ...except: Principal[]): this {
    return this.policy({ ...this.about(except), kind: 'hidden_column', resource: of(path, column) });
  }

  deactivated(name: string): this {
    const id = this.userId(name);
    const index = this.users.findIndex((user) => user.id === id);
    this.users[index] = { id, name, isActive: false };
    return this;
  }

  with(settings: Partial<SnapshotSettings>): this {
    this.settings = { ...this.settings, ...settings };
    return this;
  }

  snapshot(): Snapshot {
    const { users, groups, grants, policies, settings } = this;
    return structuredClone({ users, groups, grants, policies, settings, at: NOW });
  }

  private userId(name: string): number {
    const known = this.users.find((user) => user.name === name);
    if (known) return known.id;
    const id = this.users.length + 1;
    this.users.push({ id, name, isActive: true });
    return id;
  }

  private about(except: readonly Principal[]): {
    id: number;
    principal: PolicyPrincipal;
    except: readonly Principal[];
  } {
    return { id: this.policies.length + 1, principal: this.principal, except };
  }

  private policy(policy: SnapshotPolicy): this {
    this.policies.push(policy);
    return this;
  }
}

/** The node of a path. */
export function at(path: string | Node): Node {
  if (typeof path !== 'string') return path;
  const [catalog, schema, name] = path === '' ? [] : path.split('.');
  return nodeOf(
    name?.endsWith('()') ? { catalog, schema, routine: name.slice(0, -2) } : { catalog, schema, table: name },
  );
}

function of(path: string, column: string): ColumnResource {
  return { ...at(path), column };
}

function read(privileges: string): Privilege[] {
  const names = privileges.split(',').map((privilege) => privilege.trim());
  return PRIVILEGES.filter((privilege) => names.includes(privilege));
}
