import type { NamedNode, Node } from '../../../src/trino-rules/model/node.js';
import { Principals } from '../../../src/trino-rules/model/principals.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';

/** With the names that the snapshot has for those whom it names. */
export function namedNode(snapshot: Snapshot, node: Node): NamedNode {
  return new Principals(snapshot).nodeWithName(node);
}
