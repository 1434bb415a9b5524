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

export class SnapshotRowReader {
  constructor(
    private readonly decoder: SnapshotDecoder,
    private readonly principals: Pick<SnapshotPrincipalReader, 'readPrincipal'>,
    private readonly settings: Pick<SnapshotSettings, 'metadataCatalog'>,
  ) {}

  readGrant(value: unknown, path: string, id: number): SnapshotGrant {
    const row = this.decoder.object(value, path, GRANT_FIELDS);
    const principal = this.readPolicyPrincipal(row.principal, `${path}.principal`);
    const resource = this.readResource(row.resource, `${path}.resource`);
    const privileges = this.readPrivileges(row.privileges, `${path}.privileges`, privilegesOn(resource));
    const problem = holderProblem(privileges, principal);
    if (problem !== null) this.decoder.addProblem(`${path}.principal`, problem);
    return {
      id,
      principal,
      resource,
      privileges,
      expiresAt: this.readInstant(row.expires_at, `${path}.expires_at`),
      revokedAt: this.readInstant(row.revoked_at, `${path}.revoked_at`),
    };
  }

  readPolicy(value: unknown, path: string, id: number): SnapshotPolicy {
    const row = this.decoder.object(value, path, POLICY_FIELDS);
    const kind = this.decoder.oneOf(row.kind, `${path}.kind`, POLICY_KINDS) ?? 'deny';
    const readException = (item: unknown, itemPath: string) => this.principals.readPrincipal(item, itemPath);
    const baseFields = {
      id,
      principal: this.readPolicyPrincipal(row.principal, `${path}.principal`),
      except: this.decoder.list(row.except ?? [], `${path}.except`, readException),
    };
    if (kind !== 'row_filter' && kind !== 'column_mask') this.requireAbsent(row.expression, `${path}.expression`, kind);
    if (kind !== 'deny') this.requireAbsent(row.privileges, `${path}.privileges`, kind);
    const nodePath = `${path}.resource`;
    const readExpression = (): string => this.decoder.text(row.expression, `${path}.expression`, expressionProblem);
    switch (kind) {
      case 'row_filter': {
        const resource = this.readDataNode(() => this.readResource(row.resource, nodePath), nodePath);
        return { ...baseFields, kind, resource, expression: readExpression() };
      }
      case 'column_mask':
        return { ...baseFields, kind, resource: this.readColumn(row.resource, nodePath), expression: readExpression() };
      case 'hidden_column':
        return { ...baseFields, kind, resource: this.readColumn(row.resource, nodePath) };
      case 'deny': {
        const resource = this.readResource(row.resource, nodePath);
        const choices = privilegesOn(resource);
        const privileges = this.readPrivileges(row.privileges ?? choices, `${path}.privileges`, choices);
        return { ...baseFields, kind, resource, privileges };
      }
    }
  }

  readPolicyPrincipal(value: unknown, path: string): PolicyPrincipal {
    const { type } = typeof value === 'object' && value !== null && 'type' in value ? value : { type: undefined };
    if (type !== 'everyone') return this.principals.readPrincipal(value, path);
    this.decoder.object(value, path, ['type']);
    return { type };
  }

  readResource(value: unknown, path: string): Node {
    return this.readNode(this.decoder.object(value, path, NODE_FIELDS), path);
  }

  /** Reads a node on which filters, masks and hidden columns can be. */
  private readDataNode(read: () => Node, path: string): Node {
    const problemCount = this.decoder.problems.length;
    const node = read();
    const problem = restrictionProblem(node);
    if (problem !== null && this.decoder.problems.length === problemCount) this.decoder.addProblem(path, problem);
    return node;
  }

  private readColumn(value: unknown, path: string): ColumnResource {
    const { column, ...node } = this.decoder.object(value, path, [...LEVELS, 'column']);
    const resource = this.readDataNode(() => this.readNode(node, path), path);
    return { ...resource, column: this.readName(column, `${path}.column`) };
  }

  private readNode(fields: NodeFields, path: string): Node {
    const misplacement = misplacedField(fields);
    if (misplacement !== null) this.decoder.addProblem(`${path}.${misplacement.field}`, misplacement.message);
    const nameIn = (field: Level | 'routine') =>
      fields[field] === undefined ? null : this.readName(fields[field], `${path}.${field}`);
    const readPrincipalField = (field: 'as' | 'queries') =>
      fields[field] === undefined ? {} : { [field]: this.readPolicyPrincipal(fields[field], `${path}.${field}`) };
    const resource = nodeOf({
      ...{ catalog: nameIn('catalog'), schema: nameIn('schema'), table: nameIn('table'), routine: nameIn('routine') },
      ...(fields.engine === true && { engine: true }),
      ...readPrincipalField('as'),
      ...readPrincipalField('queries'),
    });
    const problem = closedProblem(resource, this.settings.metadataCatalog);
    if (problem !== null && misplacement === null) this.decoder.addProblem(path, problem);
    return resource;
  }

  private readName(value: unknown, path: string): string {
    return this.decoder.text(value, path, resourceNameProblem);
  }

  readPrivileges(value: unknown, path: string, possiblePrivileges: readonly Privilege[]): Privilege[] {
    const readItem = (item: unknown, itemPath: string) => this.decoder.oneOf(item, itemPath, possiblePrivileges) ?? [];
    const privileges = this.decoder.list(value, path, readItem).flat();
    if (Array.isArray(value) && value.length === 0) this.decoder.addProblem(path, 'must name at least one privilege');
    return orderedPrivileges(privileges);
  }

  private readInstant(value: unknown, path: string): Date | null {
    return value === undefined || value === null ? null : this.decoder.instant(value, path);
  }

  private requireAbsent(value: unknown, path: string, kind: string): void {
    if (value !== undefined && value !== null) this.decoder.addProblem(path, `means nothing in a ${kind}`);
  }
}

const COMMON_FIELDS = ['id', 'principal', 'resource', 'privileges', 'description'] as const;
const GRANT_FIELDS = [...COMMON_FIELDS, 'expires_at', 'revoked_at'] as const;
const POLICY_FIELDS = [...COMMON_FIELDS, 'kind', 'except', 'expression'] as const;

interface IdLookup {
  ids: ReadonlySet<number>;
  idsByName: ReadonlyMap<unknown, number>;
}

/** Finds the principals of a snapshot file by id or by name. Ambiguous names are problems. */
export class SnapshotPrincipalReader {
  /** By name in lower case: the kind of the name's holder, such as `a service account`. */
  private readonly holderKinds = new Map<string, string>();
  private readonly engineNames = new Map<string, string>();
  private readonly idLookups: Record<'user' | 'group', IdLookup>;

  constructor(
    private readonly decoder: SnapshotDecoder,
    users: readonly SnapshotUser[],
    groups: readonly Pick<SnapshotGroup, 'id' | 'name'>[],
    settings: Pick<SnapshotSettings, 'serviceAccounts'>,
    private readonly unknownUserMessage: (name: string) => string = () => 'names no user of this file',
    private readonly placeText = DEFAULT_PLACE_TEXT,
  ) {
    for (const name of settings.serviceAccounts) this.holderKinds.set(foldedName(name), 'a service account');
    users.forEach(({ name }, i) => {
      this.claimName(name, `users[${i}].name`);
    });
    const groupNames = new Set<string>();
    groups.forEach(({ name }, i) => {
      if (name !== '' && groupNames.has(foldedName(name)))
        decoder.addProblem(`groups[${i}].name`, 'is the name of another group');
      groupNames.add(foldedName(name));
    });
    this.idLookups = { user: idLookup(users), group: idLookup(groups) };
  }

  readPrincipal(value: unknown, path: string): Principal {
    const { type, id, name } = this.decoder.object(value, path, ['type', 'id', 'name']);
    switch (this.decoder.oneOf<Principal['type']>(type, `${path}.type`, PRINCIPAL_TYPES)) {
      case 'user':
        return { type: 'user', id: this.findId('user', id, name, path) };
      case 'group':
        return { type: 'group', id: this.findId('group', id, name, path) };
      case 'engine':
        if (id !== undefined) this.decoder.addProblem(`${path}.id`, 'an engine principal has a name only');
        return { type: 'engine', name: this.readEngineName(name, `${path}.name`) };
      case undefined:
        return { type: 'user', id: 0 };
    }
  }

  /** A member of a group: an account's id or its name, or an engine principal as `{"engine": name}`. */
  readMember(value: unknown, path: string): GroupMember {
    if (typeof value === 'string') return { type: 'user', id: this.findId('user', undefined, value, path) };
    if (typeof value !== 'object') return { type: 'user', id: this.findId('user', value, undefined, path) };
    const { engine } = this.decoder.object(value, path, ['engine']);
    return { type: 'engine', name: this.readEngineName(engine, `${path}.engine`) };
  }

  private findId(kind: 'user' | 'group', id: unknown, name: unknown, path: string): number {
    const { ids, idsByName } = this.idLookups[kind];
    const foundId = name === undefined ? id : idsByName.get(name);
    if (typeof foundId === 'number' && ids.has(foundId) && (id === undefined || id === foundId)) return foundId;
    const isUnknownUser = kind === 'user' && typeof name === 'string' && !idsByName.has(name);
    this.decoder.addProblem(path, isUnknownUser ? this.unknownUserMessage(name) : `names no ${kind} ${this.placeText}`);
    return 0;
  }

  private readEngineName(value: unknown, path: string): string {
    const name = this.decoder.text(value, path, nameProblem);
    const holderKind = this.holderKinds.get(foldedName(name));
    if (holderKind !== undefined) {
      const remedyText = holderKind === 'an account' && this.placeText === DEFAULT_PLACE_TEXT ? PERSON_NAME_ADVICE : '';
      this.decoder.addProblem(path, `is the name of ${holderKind}, not of an engine principal${remedyText}`);
    }
    const knownSpelling = this.engineNames.get(foldedName(name)) ?? name;
    if (knownSpelling !== name)
      this.decoder.addProblem(path, `differs from the engine principal ${knownSpelling} in case only`);
    this.engineNames.set(foldedName(name), knownSpelling);
    return name;
  }

  private claimName(name: string, path: string): void {
    const holderKind = this.holderKinds.get(foldedName(name));
    if (holderKind === undefined) this.holderKinds.set(foldedName(name), 'an account');
    else if (name !== '') this.decoder.addProblem(path, `is the name of ${holderKind} already`);
  }
}

const DEFAULT_PLACE_TEXT = 'of this file';
const PERSON_NAME_ADVICE =
  ': give the program another name, or mark the person in the list of users (user: before the name) and import again';

function idLookup(rows: readonly { id: number; name: string }[]): IdLookup {
  return { ids: new Set(rows.map(({ id }) => id)), idsByName: new Map(rows.map(({ id, name }) => [name, id])) };
}
