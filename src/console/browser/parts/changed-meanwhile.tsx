import { useState } from 'react';
import { useLastActor } from '../api/audit.js';
import { clockTime } from '../domain/moment-text.js';
import { differencesOf, formOfPolicy, type Policy, type PolicyForm } from '../domain/policy-form.js';
import { Notice } from './notice.js';

interface ChangedMeanwhileProps {
  theirs: Policy;
  mine: PolicyForm;
  takeTheirs: () => void;
  /** The next *Save* replaces what the other one wrote. */
  keepMine: () => void;
}

/** Somebody else has saved the policy since it was read here: both are kept until one of the two is chosen. */
export function ChangedMeanwhile({ theirs, mine, takeTheirs, keepMine }: ChangedMeanwhileProps) {
  const [isComparing, compare] = useState(false);
  const differences = differencesOf(formOfPolicy(theirs), mine);
  return (
    <Notice
      tone="warn"
      role="alert"
      title="Changed meanwhile"
      actions={
        isComparing ? (
          <>
            <button className="button button--small" type="button" onClick={takeTheirs}>
              Take theirs
            </button>
            <button className="button button--small" type="button" onClick={keepMine}>
              Keep mine
            </button>
          </>
        ) : (
          <button className="button button--small" type="button" onClick={() => compare(true)}>
            Compare
          </button>
        )
      }
    >
      <p>
        {useLastActor(theirs.id, theirs.changed_at) ?? 'Somebody'} changed this policy at{' '}
        {clockTime(new Date(theirs.changed_at))}, while you were editing. Nothing is saved or lost.
      </p>
      {isComparing && (
        <dl className="facts facts--rows">
          {differences.map(({ field, one, other }) => (
            <div key={field}>
              <dt>{field}</dt>
              <dd>
                {one === '' ? 'nothing' : one}
                <small>yours: {other === '' ? 'nothing' : other}</small>
              </dd>
            </div>
          ))}
          {differences.length === 0 && <p>Theirs is the same as yours.</p>}
        </dl>
      )}
    </Notice>
  );
}
