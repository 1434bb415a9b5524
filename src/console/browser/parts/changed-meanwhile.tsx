import { type ReactNode, useState } from 'react';
import { differencesOf, type FieldTexts } from '../domain/grant-form.js';
import { clockTime } from '../domain/moment-text.js';
import { Button } from './controls.js';
import { Notice } from './notice.js';

interface ChangedMeanwhileProps<F> {
  /** *policy* */
  what: string;
  by: ReactNode;
  at: string;
  fields: FieldTexts<F>;
  theirs: F;
  mine: F;
  /** The next *Save* overwrites the other version. */
  choose: (form: F) => void;
}

/** Shown when somebody else has saved an entry meanwhile: both versions stay until one is chosen. */
export function ChangedMeanwhile<F>({ what, by, at, fields, theirs, mine, choose }: ChangedMeanwhileProps<F>) {
  const [isComparing, compare] = useState(false);
  const differences = differencesOf(fields, theirs, mine);
  return (
    <Notice
      tone="warn"
      role="alert"
      title="Changed meanwhile"
      actions={
        isComparing ? (
          <>
            <Button text="Take theirs" look="small" onClick={() => choose(theirs)} />
            <Button text="Keep mine" look="small" onClick={() => choose(mine)} />
          </>
        ) : (
          <Button text="Compare" look="small" onClick={() => compare(true)} />
        )
      }
    >
      <p>
        {by} changed this {what} at {clockTime(new Date(at))}, while you were editing. Nothing is saved or lost.
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
