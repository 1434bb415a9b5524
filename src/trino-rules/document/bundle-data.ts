/**
 * The data of a bundle (`data.grantline.access`), which the policy and the proof read. Nodes are looked up by catalog, schema and table,
 * with `''` for an absent level; names of routines begin with a tab. Keys of principals are `u` + name, `g` + id, or `*` for everyone.
 * Moments are milliseconds since 1970. Optional fields are absent, never null.
 */
export interface BundleData {
  operations: Readonly<Record<string, object>>;
  /** Grantline's own account on the engine. */
  own: string;
  /** All service accounts. */
  services: Tree<true>;
  /** Rights of service accounts by catalog, as one letter (`RightLetter`) for each right. */
  served: Tree<string>;
  /** The metadata catalog, to which nobody has access. */
  closed: Tree<true>;
  /** By catalog: columns that are hidden as soon as another column is masked or hidden. The key `''` is for catalogs without their own key. */
  storage: Tree<readonly string[]>;
  impersonation: boolean;
  readersMaintain: boolean;
  sessionProperties: Tree<true>;
  users: Tree<BundleUser>;
  /** Rights that grants give, by principal, then by catalog, schema and table. */
  grants: Tree<Tree<Tree<Tree<TimedRights>>>>;
  /** Rights that grants give below a node, by principal, catalog and schema. The key `''` stands for every principal. */
  below: Tree<Tree<Tree<RightsBelow>>>;
  /** Policies by catalog, schema, table and principal. Under `\n` instead of a table: rights that a policy takes away beyond its node. */
  policies: Tree<Tree<Tree<Tree<readonly BundlePolicy[]>>>>;
  /** Rights over the engine, over other principals' queries, and to impersonate: by holder, then by the other principal (`''`: the engine). */
  over: {
    grants: Tree<Tree<TimedRights>>;
    denies: Tree<Tree<readonly Pick<BundlePolicy, 'l' | 'x'>[]>>;
    /** For each principal whose queries a grant allows to kill: the names of its members. */
    members: Tree<readonly string[]>;
  };
}

type Tree<T> = Readonly<Record<string, T>>;

/** Rights at a node: the letters of rights that do not expire, and optionally the letters of rights that expire, each with the moment. */
export type TimedRights = string | readonly [string, Tree<number>];

export interface BundleUser {
  /** Keys of principals whose grants and policies apply to this user. */
  k?: readonly string[];
  /** Keys of this user as an owner of queries. Set only if `k` is absent, for example for a deactivated account. */
  o?: readonly string[];
  /** Set if the user is an engine principal. */
  e?: true;
  /** The moment until which an engine principal is a member of everyone. */
  u?: number;
  /** The moment until which the user may impersonate others. */
  i?: number;
  /** Set if nobody may impersonate the user. */
  z?: true;
}

export interface RightsBelow {
  /** Letters of the rights that grants below the node give and that no policy between the node and the grant can take away. */
  l?: TimedRights;
  /** Names of children that Rego must evaluate, because policies or settings may change rights there. */
  n?: readonly string[];
}

export interface BundlePolicy {
  /** Row filter, mask, hidden column or deny. Absent in an entry under the key `\n`, which only lists rights (see `policies`). */
  k?: 'f' | 'm' | 'h' | 'd';
  /** Expression of a filter or a mask. */
  e?: string;
  /** Name of a masked or hidden column. */
  c?: string;
  /** Letters of the rights that the policy takes away. */
  l?: string;
  /** Set if the policy restricts reading. OPA then also denies companions (`table$suffix`), and procedures that add files to tables. */
  r?: true;
  /** Keys of principals that the policy does not apply to. */
  x?: Tree<true>;
}
