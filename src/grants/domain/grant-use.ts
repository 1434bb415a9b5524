import type { Privilege } from '../../trino-rules/model/privilege.js';

/**
 * A node as values of the columns in the table of grants. Absent names are empty texts. `name` is a table or a routine; `target` is the
 * owner of queries, or the user to act as.
 */
export type NodeKey = readonly [
  kind: 'everything' | 'tree' | 'routine' | 'engine' | 'queries' | 'acting',
  catalog: string,
  schema: string,
  name: string,
  target: string,
];

/** Decisions of one day by which a user was allowed something. Each grant of one of `privileges` on `node` can be the reason. */
export interface NodeUse {
  /** The user's name on the engine. */
  userName: string;
  /** The time of the latest decision on that day. */
  lastDecisionAt: Date;
  node: NodeKey;
  /** A grant of any one of these privileges allows the counted decisions. */
  privileges: readonly Privilege[];
  decisions: number;
}
