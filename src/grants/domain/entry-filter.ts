import type { Node, NodeKind } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';

/** Which grants, or which policies, by whom they are for and by their nodes. Null: any. */
export interface EntryFilter {
  principal: PolicyPrincipal | null;
  catalog: string | null;
  schema: string | null;
  table: string | null;
  routine: string | null;
  /** Of the node. */
  kind: NodeKind | null;
  /** Whom the node names: as whom somebody acts, or whose queries they are. */
  named: PolicyPrincipal | null;
  /** A node of the tree: those on it and above it. */
  covering: Node | null;
  /** Part of the name of whom it is for, or of its node; in any case. */
  text: string | null;
}

/** Of entries on any node for anybody. */
export const ANY_ENTRY: EntryFilter = {
  principal: null,
  catalog: null,
  schema: null,
  table: null,
  routine: null,
  kind: null,
  named: null,
  covering: null,
  text: null,
};
