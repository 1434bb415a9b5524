import { type ReactNode, useState } from 'react';
import { differencesOf, type FieldTexts } from '../domain/grant-form.js';
import { clockTime } from '../domain/moment-text.js';
import { Button } from './controls.js';
import { Notice } from './notice.js';

interface ChangedMeanwhileProps<F> {
  /** The kind of the entry, for example *policy*. */
  entryKind: string;
  changedBy: ReactNode;
  changedAt: string;
  fields: FieldTexts<F>;
  theirForm: F;
  myForm: F;
  /** Called with the version to continue with. The next *Save* overwrites the other version. */
  choose: (form: F) => void;
}

/** Shows two versions of an entry until one is chosen: the version in the form, and the version that somebody else has saved meanwhile. */
export function ChangedMeanwhile<F>(props: ChangedMeanwhileProps<F>) {
  const { entryKind, changedBy, changedAt, fields, theirForm, myForm, choose } = props;
  const [isComparing, setComparing] = useState(false);
  const differences = differencesOf(fields, theirForm, myForm);
  return (
    <Notice
      tone="warn"
      role="alert"
      title="Changed meanwhile"
      actions={
        isComparing ? (
          <>
            <Button text="Take theirs" look="small" onClick={() => choose(theirForm)} />
            <Button text="Keep mine" look="small" onClick={() => choose(myForm)} />
          </>
        ) : (
          <Button text="Compare" look="small" onClick={() => setComparing(true)} />
        )
      }
    >
      <p>
        {changedBy} changed this {entryKind} at {clockTime(new Date(changedAt))}, while you were editing. Nothing is
        saved or lost.
      </p>
      {isComparing && (
        <dl className="facts facts--rows">
          {differences.map(({ field, theirText, myText }) => (
            <div key={field}>
              <dt>{field}</dt>
              <dd>
                {theirText === '' ? 'nothing' : theirText}
                <small>yours: {myText === '' ? 'nothing' : myText}</small>
              </dd>
            </div>
          ))}
          {differences.length === 0 && <p>Theirs is the same as yours.</p>}
        </dl>
      )}
    </Notice>
  );
}
