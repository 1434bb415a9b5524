import { holderProblem } from '../../../trino-rules/model/holder.js';
import type { Node } from '../../../trino-rules/model/node.js';
import { type Privilege, privilegesOn } from '../../../trino-rules/model/privilege.js';
import type { Named } from './principal.js';

export type { Node, Privilege };

interface PrivilegeChecksProps {
  /** On what: it says which there are. */
  node: Node;
  /** To whom; null: anybody. */
  holder: Named | null;
  value: readonly Privilege[];
  set: (value: Privilege[]) => void;
  error?: string | null;
}

/** Why a privilege cannot be granted to somebody; null: it can. */
function problemOf(privilege: Privilege, holder: Named | null): string | null {
  return holder === null ? null : holderProblem([privilege], holder as Parameters<typeof holderProblem>[1]);
}

/** Those of the chosen ones that can be given to somebody on a node. */
export function givable(chosen: readonly Privilege[], node: Node, holder: Named | null): Privilege[] {
  return privilegesOn(node).filter((each) => chosen.includes(each) && problemOf(each, holder) === null);
}

/** A checkbox for each privilege that can be given on a node. */
export function PrivilegeChecks({ node, holder, value, set, error = null }: PrivilegeChecksProps) {
  const open = privilegesOn(node);
  const problems = open.flatMap((each) => problemOf(each, holder) ?? []);
  return (
    <fieldset className="field">
      <legend>Privileges</legend>
      <div className="checks">
        {open.map((privilege) => (
          <label key={privilege} className="check">
            <input
              type="checkbox"
              checked={value.includes(privilege) && problemOf(privilege, holder) === null}
              disabled={problemOf(privilege, holder) !== null}
              onChange={({ target }) =>
                set(target.checked ? [...value, privilege] : value.filter((each) => each !== privilege))
              }
            />{' '}
            <span className="mono">{privilege}</span>
          </label>
        ))}
      </div>
      {problems.map((problem) => (
        <p key={problem} className="hint">
          {problem}.
        </p>
      ))}
      {error !== null && <p className="hint hint--error">{error}</p>}
    </fieldset>
  );
}
