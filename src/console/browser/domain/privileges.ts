import { holderProblem, type Privilege, PRIVILEGES, privilegesOn } from '../../../trino-rules/model/privilege.js';
import type { Node } from '../../../trino-rules/model/node.js';
import type { Named } from './principal.js';

export { type Node, PRIVILEGES, type Privilege, privilegesOn };

/** Why a privilege cannot be granted to somebody; null: it can. */
export function grantProblem(privilege: Privilege, holder: Named | null): string | null {
  return holder === null ? null : holderProblem([privilege], holder as Parameters<typeof holderProblem>[1]);
}

/** Those of the chosen ones that can be granted to somebody on a node. */
export function givable(chosen: readonly Privilege[], node: Node, holder: Named | null): Privilege[] {
  return privilegesOn(node).filter((each) => chosen.includes(each) && grantProblem(each, holder) === null);
}
