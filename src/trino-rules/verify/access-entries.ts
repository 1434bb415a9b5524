import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion } from '../document/open-names.js';
import { OPEN_SYSTEM_SCHEMAS } from '../model/resource.js';
import { type Access, accessOf, NO_ACCESS, SERVICE_ACCOUNT_PRIVILEGES } from '../model/intent.js';
import { isInTree, namesOf, type Node, SYSTEM } from '../model/node.js';
import { isOverData, type Privilege, privilegesOn } from '../model/privilege.js';
import {
  isAroundCatalogOf,
  restrictsReading,
  sharesFiles,
  STORAGE_COLUMNS,
  storageColumns,
} from '../model/restrictions.js';
import { isLive, type Snapshot, type SnapshotPolicy } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

/** A grant, a policy or a setting on a node, and the positions of its members. */
export interface AccessEntry {
  source: EntrySource;
  members: readonly number[];
}

/** A node with entries, or an ancestor of one. */
export interface EntryNode {
  entries: AccessEntry[];
  children: Map<string, EntryNode>;
  /** Set for a table that a guarantee names: it is evaluated for all users, even if they have no entry there. */
  isAsked?: true;
}

/**
 * The entries about data at their nodes, with those of service accounts by the settings. The metadata catalog has none, and `system` is
 * separate, because entries on everything do not reach it.
 */
export function entriesByNode(snapshot: Snapshot, principals: PrincipalIndex): Record<'root' | 'system', EntryNode> {
  const { grants, policies, settings, at, guarantees = [] } = snapshot;
  const root = emptyNode();
  const above = emptyNode();
  const placeOf = (resource: Node): EntryNode | null => {
    if (resource.catalog === settings.metadataCatalog || !isInTree(resource)) return null;
    const from = resource.catalog === SYSTEM ? above : root;
    return namesOf(resource).reduce((node, name) => getOrInsert(node.children, name, emptyNode), from);
  };
  const add = (resource: Node, entry: AccessEntry): void => {
    placeOf(resource)?.entries.push(entry);
  };
  // Equal privileges share one source, so that users with different grants of them share an interned access.
  const sources = new Map<string, EntrySource>();
  const giving = (gives: readonly Privilege[]) => getOrInsert(sources, gives.join(), () => ({ gives }));
  const served = (catalogs: readonly string[]) => catalogs.filter((catalog) => catalog !== SYSTEM);
  for (const catalog of served(settings.writableCatalogs))
    add({ catalog }, { source: giving(SERVICE_ACCOUNT_PRIVILEGES), members: principals.serviceAccounts });
  for (const catalog of served(settings.readableCatalogs))
    add({ catalog }, { source: giving(['SELECT']), members: principals.serviceAccounts });
  for (const grant of grants) {
    if (!isLive(grant, at)) continue;
    const open = grant.resource.catalog === SYSTEM ? privilegesOn(grant.resource) : grant.privileges;
    const privileges = grant.privileges.filter((each) => isOverData(each) && open.includes(each));
    if (privileges.length === 0) continue;
    add(grant.resource, { source: giving(privileges), members: principals.resolvePrincipal(grant.principal) });
  }
  for (const policy of policies)
    add(policy.resource, { source: { policy }, members: principals.resolvePolicy(policy) });
  for (const { resource } of guarantees.flatMap(({ scopes }) => scopes)) {
    const { table } = resource;
    const nodes = table === undefined ? [resource] : [resource, { ...resource, table: freshCompanion(table) }];
    for (const node of nodes.map(placeOf)) if (node !== null && table !== undefined) node.isAsked = true;
  }
  for (const catalog of new Set([...settings.externalTableCatalogs, ...settings.rawColumnCatalogs]))
    for (const entry of catalogTerms(snapshot, principals, catalog)) add({ catalog }, entry);
  return { root, system: above.children.get(SYSTEM) ?? emptyNode() };
}

/** Entries by the settings of a catalog: storage columns for all users, and loss of ownership for users with restricted reading. */
function catalogTerms({ policies, settings }: Snapshot, principals: PrincipalIndex, catalog: string): AccessEntry[] {
  const storage = storageColumns({ catalog }, settings);
  const around = sharesFiles({ catalog }, settings)
    ? policies.filter((policy) => restrictsReading(policy) && isAroundCatalogOf({ catalog }, policy))
    : [];
  const restricted = new Set(around.flatMap((policy) => principals.resolvePolicy(policy)));
  return [
    { source: { terms: { storage, ownership: [] } }, members: [...principals.subjects.keys()] },
    { source: { terms: { storage, ownership: around } }, members: [...restricted] },
  ];
}

/** Adds entries that follow from all others: users with access to anything read the open schemas of `system`, unless denied. */
export function withOpenSchemas(system: EntryNode, reaching: readonly number[]): EntryNode {
  const children = new Map(system.children);
  for (const schema of OPEN_SYSTEM_SCHEMAS) {
    const { entries, ...said } = children.get(schema) ?? emptyNode();
    children.set(schema, { ...said, entries: [...entries, { source: { gives: ['SELECT'] }, members: reaching }] });
  }
  return { ...system, children };
}

function emptyNode(): EntryNode {
  return { entries: [], children: new Map() };
}

/** Terms of a catalog, which change the effect of entries there and above. */
interface CatalogTerms {
  /** Columns that are hidden beside any masked or hidden column. */
  storage: readonly string[];
  /** Policies anywhere in the catalog that ownership yields to. */
  ownership: readonly SnapshotPolicy[];
}

/** A grant's privileges, or a policy, without its members; or the terms of a catalog. */
export type EntrySource = { gives: readonly Privilege[] } | { policy: SnapshotPolicy } | { terms: CatalogTerms };

/** The sources of access at a node. Users with the same sources in the same order share one instance, computed once. */
export class InternedAccess {
  private readonly after = new Map<EntrySource, InternedAccess>();
  private worked: Access | null = null;
  private restricted: boolean | null = null;

  constructor(
    private readonly given: readonly Privilege[] = [],
    private readonly last: SnapshotPolicy | null = null,
    private readonly before: InternedAccess | null = null,
    private readonly terms: CatalogTerms = { storage: STORAGE_COLUMNS, ownership: [] },
  ) {}

  /** The access to a closed companion. */
  static closed(): InternedAccess {
    const closed = new InternedAccess();
    closed.worked = NO_ACCESS;
    return closed;
  }

  get access(): Access {
    return (this.worked ??= accessOf(this.given, [...InternedAccess.policiesOf(this)], {
      routines: [],
      ...this.terms,
    }));
  }

  /** Whether a policy restricts what is read, so that companions are closed. */
  get isReadingRestricted(): boolean {
    return (this.restricted ??= [...InternedAccess.policiesOf(this)].some(restrictsReading));
  }

  withSource(source: EntrySource): InternedAccess {
    return getOrInsert(this.after, source, () => this.extendedBy(source));
  }

  private extendedBy(source: EntrySource): InternedAccess {
    if ('policy' in source) return new InternedAccess(this.given, source.policy, this, this.terms);
    if ('terms' in source) return new InternedAccess(this.given, this.last, this.before, source.terms);
    const more = source.gives.filter((privilege) => !this.given.includes(privilege));
    return more.length === 0 ? this : new InternedAccess([...this.given, ...more], this.last, this.before, this.terms);
  }

  /** The policies in reverse order: the specification ignores the order. */
  private static *policiesOf(entitlement: InternedAccess): Iterable<SnapshotPolicy> {
    for (let each: InternedAccess | null = entitlement; each; each = each.before) if (each.last) yield each.last;
  }
}
