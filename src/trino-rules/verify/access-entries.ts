import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { OPEN_SYSTEM_SCHEMAS } from '../model/resource.js';
import { type Access, accessOf, NO_ACCESS, SERVICE_ACCOUNT_PRIVILEGES } from '../model/intent.js';
import { isInTree, namesOf, type Node, SYSTEM } from '../model/node.js';
import { isDataPrivilege, type Privilege, privilegesOn } from '../model/privilege.js';
import {
  concernsCatalogOf,
  restrictsReading,
  tablesMayShareFiles,
  STORAGE_COLUMNS,
  storageColumns,
} from '../model/restrictions.js';
import { isLive, type Snapshot, type SnapshotPolicy } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

/** A grant, a policy or a setting on a node. `members` are the numbers of its users in the PrincipalIndex. */
export interface AccessEntry {
  source: EntrySource;
  members: readonly number[];
}

/** A node with entries (grants, policies, settings), or with a descendant that has entries. */
export interface EntryNode {
  entries: AccessEntry[];
  children: Map<string, EntryNode>;
  /** Set for a table that a guarantee names. It is evaluated for all users, not only for those with grants or policies on it. */
  isEvaluatedForAll?: true;
}

/**
 * The grants and policies on data as trees, with the rights of service accounts from the settings. The metadata catalog is left out.
 * `system` has a separate tree, because grants and policies on everything do not apply there.
 */
export function entriesByNode(snapshot: Snapshot, principals: PrincipalIndex): Record<'root' | 'system', EntryNode> {
  const { grants, policies, settings, at, guarantees = [] } = snapshot;
  const root = emptyNode();
  const systemParent = emptyNode();
  const entryNodeOf = (resource: Node): EntryNode | null => {
    if (resource.catalog === settings.metadataCatalog || !isInTree(resource)) return null;
    const startNode = resource.catalog === SYSTEM ? systemParent : root;
    return namesOf(resource).reduce((node, name) => getOrInsert(node.children, name, emptyNode), startNode);
  };
  const addEntry = (resource: Node, entry: AccessEntry): void => {
    entryNodeOf(resource)?.entries.push(entry);
  };
  // Grants with equal privileges share one `EntrySource`, so that the equal access of their users is stored once.
  const sources = new Map<string, EntrySource>();
  const sourceOf = (privileges: readonly Privilege[]): EntrySource =>
    getOrInsert(sources, privileges.join(), () => ({ privileges }));
  const serviceCatalogs = (catalogs: readonly string[]) => catalogs.filter((catalog) => catalog !== SYSTEM);
  for (const catalog of serviceCatalogs(settings.writableCatalogs))
    addEntry({ catalog }, { source: sourceOf(SERVICE_ACCOUNT_PRIVILEGES), members: principals.serviceAccounts });
  for (const catalog of serviceCatalogs(settings.readableCatalogs))
    addEntry({ catalog }, { source: sourceOf(['SELECT']), members: principals.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    const possiblePrivileges = grant.resource.catalog === SYSTEM ? privilegesOn(grant.resource) : grant.privileges;
    const privileges = grant.privileges.filter((each) => isDataPrivilege(each) && possiblePrivileges.includes(each));
    if (privileges.length === 0) continue;
    addEntry(grant.resource, { source: sourceOf(privileges), members: principals.resolvePrincipal(grant.principal) });
  }
  for (const policy of policies)
    addEntry(policy.resource, { source: { policy }, members: principals.resolvePolicy(policy) });
  for (const { resource } of guarantees.flatMap(({ scopes }) => scopes)) {
    const { table } = resource;
    const nodes = table === undefined ? [resource] : [resource, { ...resource, table: freshCompanion(table) }];
    for (const node of nodes.map(entryNodeOf)) if (node !== null && table !== undefined) node.isEvaluatedForAll = true;
  }
  for (const catalog of new Set([...settings.externalTableCatalogs, ...settings.rawColumnCatalogs]))
    for (const entry of catalogTerms(snapshot, principals, catalog)) addEntry({ catalog }, entry);
  return { root, system: systemParent.children.get(SYSTEM) ?? emptyNode() };
}

/** Two entries for a catalog: one with its storage columns, for everyone, and one with the policies that take away ownership. */
function catalogTerms({ policies, settings }: Snapshot, principals: PrincipalIndex, catalog: string): AccessEntry[] {
  const columns = storageColumns({ catalog }, settings);
  const readingRestrictions = tablesMayShareFiles({ catalog }, settings)
    ? policies.filter((policy) => restrictsReading(policy) && concernsCatalogOf({ catalog }, policy))
    : [];
  const restrictedUsers = new Set(readingRestrictions.flatMap((policy) => principals.resolvePolicy(policy)));
  const source = { terms: { storageColumns: columns, ownershipPolicies: readingRestrictions } };
  return [
    { source: { terms: { ...source.terms, ownershipPolicies: [] } }, members: [...principals.subjects.keys()] },
    { source, members: [...restrictedUsers] },
  ];
}

/** Gives everybody who has some access SELECT on the schemas of `system` that BI tools need. */
export function withOpenSchemas(systemNode: EntryNode, usersWithAccess: readonly number[]): EntryNode {
  const children = new Map(systemNode.children);
  const openEntry: AccessEntry = { source: { privileges: ['SELECT'] }, members: usersWithAccess };
  for (const schema of OPEN_SYSTEM_SCHEMAS) {
    const { entries, ...node } = children.get(schema) ?? emptyNode();
    children.set(schema, { ...node, entries: [...entries, openEntry] });
  }
  return { ...systemNode, children };
}

function emptyNode(): EntryNode {
  return { entries: [], children: new Map() };
}

interface CatalogTerms {
  /** Columns that are hidden as soon as another column is masked or hidden. */
  storageColumns: readonly string[];
  /** Policies anywhere in the catalog that take away ownership. */
  ownershipPolicies: readonly SnapshotPolicy[];
}

export type EntrySource = { privileges: readonly Privilege[] } | { policy: SnapshotPolicy } | { terms: CatalogTerms };

/** The access that follows from a list of grants, policies and settings. Users with the same list share one instance. */
export class InternedAccess {
  private readonly accessByAddedSource = new Map<EntrySource, InternedAccess>();
  private cachedAccess: Access | null = null;
  private cachedIsRestricted: boolean | null = null;

  constructor(
    private readonly privileges: readonly Privilege[] = [],
    private readonly lastPolicy: SnapshotPolicy | null = null,
    private readonly accessBefore: InternedAccess | null = null,
    private readonly terms: CatalogTerms = { storageColumns: STORAGE_COLUMNS, ownershipPolicies: [] },
  ) {}

  /** No access: for companions (`table$suffix`) of restricted tables. */
  static closedAccess(): InternedAccess {
    const closedAccess = new InternedAccess();
    closedAccess.cachedAccess = NO_ACCESS;
    return closedAccess;
  }

  get access(): Access {
    return (this.cachedAccess ??= accessOf(this.privileges, [...InternedAccess.policiesOf(this)], {
      routinePolicies: [],
      ...this.terms,
    }));
  }

  /** Whether a policy restricts reading and therefore also denies companions (`table$suffix`). */
  get isReadingRestricted(): boolean {
    return (this.cachedIsRestricted ??= [...InternedAccess.policiesOf(this)].some(restrictsReading));
  }

  withSource(source: EntrySource): InternedAccess {
    return getOrInsert(this.accessByAddedSource, source, () => this.createExtension(source));
  }

  private createExtension(source: EntrySource): InternedAccess {
    if ('policy' in source) return new InternedAccess(this.privileges, source.policy, this, this.terms);
    if ('terms' in source) return new InternedAccess(this.privileges, this.lastPolicy, this.accessBefore, source.terms);
    const newPrivileges = source.privileges.filter((privilege) => !this.privileges.includes(privilege));
    return newPrivileges.length === 0
      ? this
      : new InternedAccess([...this.privileges, ...newPrivileges], this.lastPolicy, this.accessBefore, this.terms);
  }

  /** The policies of an access, in reverse order. No caller depends on the order. */
  private static *policiesOf(access: InternedAccess): Iterable<SnapshotPolicy> {
    for (let each: InternedAccess | null = access; each; each = each.accessBefore)
      if (each.lastPolicy) yield each.lastPolicy;
  }
}
