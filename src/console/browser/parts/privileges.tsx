import { grantProblem, type Node, type Privilege, privilegesOn } from '../domain/privileges.js';
import type { Named } from './principal.js';

interface PrivilegeChecksProps {
  /** On what: it says which there are. */
  node: Node;
  /** To whom; null: anybody. */
  holder: Named | null;
  value: readonly Privilege[];
  set: (value: Privilege[]) => void;
  error?: string | null;
}

/** A checkbox for each privilege that can be given on a node. */
export function PrivilegeChecks({ node, holder, value, set, error = null }: PrivilegeChecksProps) {
  const open = privilegesOn(node);
  const problems = open.flatMap((each) => grantProblem(each, holder) ?? []);
  return (
    <fieldset className="field">
      <legend>Privileges</legend>
      <div className="checks">
        {open.map((privilege) => (
          <label key={privilege} className="check">
            <input
              type="checkbox"
              checked={value.includes(privilege) && grantProblem(privilege, holder) === null}
              disabled={grantProblem(privilege, holder) !== null}
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
