import { resourceNameProblem } from '../../kernel/name.js';
import { type Level, LEVELS, misplacedField, NODE_FIELDS, type NodeFields, nodeOf, type Node } from './node.js';
import { holderProblem } from './holder.js';
import { orderedPrivileges, privilegesOn, type Privilege } from './privilege.js';
import { closedProblem, type ColumnResource, restrictionProblem } from './resource.js';
import type { SnapshotDecoder } from './snapshot-decoder.js';
import type { SnapshotNames } from './snapshot-names.js';
import { POLICY_KINDS, type SnapshotGrant, type SnapshotPolicy, type SnapshotSettings } from './snapshot.js';
import { expressionProblem } from './sql-expression.js';

/** Reads the grants and policies of a snapshot file. */
export class SnapshotRows {
  constructor(
    private readonly form: SnapshotDecoder,
    private readonly names: SnapshotNames,
    private readonly settings: SnapshotSettings,
  ) {}

  grant(value: unknown, path: string, id: number): SnapshotGrant {
    const row = this.form.object(value, path, GRANT_KEYS);
    const principal = this.names.policyPrincipal(row.principal, `${path}.principal`);
    const resource = this.resource(row.resource, `${path}.resource`);
    const privileges = this.privileges(row.privileges, `${path}.privileges`, privilegesOn(resource));
    const problem = holderProblem(privileges, principal);
    if (problem !== null) this.form.refuse(`${path}.principal`, problem);
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
    if (kind !== 'row_filter' && kind !== 'column_mask') this.absent(row.expression, `${path}.expression`, kind);
    if (kind !== 'deny') this.absent(row.privileges, `${path}.privileges`, kind);
    switch (kind) {
      case 'row_filter':
        return {
          ...base,
          kind,
          resource: this.withData(() => this.resource(row.resource, `${path}.resource`), `${path}.resource`),
          expression: this.form.text(row.expression, `${path}.expression`, expressionProblem),
        };
      case 'column_mask':
        return {
          ...base,
          kind,
          resource: this.column(row.resource, `${path}.resource`),
          expression: this.form.text(row.expression, `${path}.expression`, expressionProblem),
        };
      case 'hidden_column':
        return { ...base, kind, resource: this.column(row.resource, `${path}.resource`) };
      case 'deny': {
        const resource = this.resource(row.resource, `${path}.resource`);
        const choices = privilegesOn(resource);
        const privileges = this.privileges(row.privileges ?? choices, `${path}.privileges`, choices);
        return { ...base, kind, resource, privileges };
      }
    }
  }

  private resource(value: unknown, path: string): Node {
    return this.node(this.form.object(value, path, NODE_FIELDS), path);
  }

  /** A node on which filters, masks and hidden columns can be. */
  private withData(read: () => Node, path: string): Node {
    const known = this.form.problems.length;
    const node = read();
    const problem = restrictionProblem(node);
    if (problem !== null && this.form.problems.length === known) this.form.refuse(path, problem);
    return node;
  }

  private column(value: unknown, path: string): ColumnResource {
    const { column, ...node } = this.form.object(value, path, [...LEVELS, 'column']);
    return { ...this.withData(() => this.node(node, path), path), column: this.name(column, `${path}.column`) };
  }

  private node(fields: NodeFields, path: string): Node {
    const misplaced = misplacedField(fields);
    if (misplaced !== null) this.form.refuse(`${path}.${misplaced.field}`, misplaced.message);
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
    if (problem !== null && misplaced === null) this.form.refuse(path, problem);
    return resource;
  }

  private name(value: unknown, path: string): string {
    return this.form.text(value, path, resourceNameProblem);
  }

  private privileges(value: unknown, path: string, choices: readonly Privilege[]): Privilege[] {
    const read = this.form.list(value, path, (item, at) => this.form.oneOf(item, at, choices) ?? []).flat();
    if (Array.isArray(value) && value.length === 0) this.form.refuse(path, 'must name at least one privilege');
    return orderedPrivileges(read);
  }

  private instant(value: unknown, path: string): Date | null {
    return value === undefined || value === null ? null : this.form.instant(value, path);
  }

  private absent(value: unknown, path: string, kind: string): void {
    if (value !== undefined && value !== null) this.form.refuse(path, `means nothing in a ${kind}`);
  }
}

/** `description` is for people; the rules do not follow from it. */
const GRANT_KEYS = ['id', 'principal', 'resource', 'privileges', 'expires_at', 'revoked_at', 'description'] as const;
const POLICY_KEYS = [
  'id',
  'kind',
  'principal',
  'except',
  'resource',
  'expression',
  'privileges',
  'description',
] as const;
