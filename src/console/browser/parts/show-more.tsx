import { useState } from 'react';
import { numberText } from '../domain/count-text.js';

/** The first of many, and a button for more of them. @param most how many at first; ten times as many with each press */
export function useFirst<T>(all: readonly T[], most: number) {
  const [shown, show] = useState(most);
  const step = 10 * most;
  const left = all.length - shown;
  const button = left > 0 && (
    <button className="button button--small" type="button" onClick={() => show(shown + step)}>
      Show {left > step ? `${numberText(step)} of ` : ''}
      {numberText(left)} more
    </button>
  );
  return [all.slice(0, shown), button] as const;
}
