import type { ReactNode } from 'react';
import { numberText } from '../domain/count-text.js';

/** Plus or minus in a square. */
export function Sign({ isLoss = false }: { isLoss?: boolean }) {
  return (
    <span className={`sign${isLoss ? ' sign--loss' : ''}`} aria-hidden="true">
      {isLoss ? '−' : '+'}
    </span>
  );
}

const classOf = (isLoss: boolean): string => `change${isLoss ? ' change--loss' : ''}`;

/** How much is gained or lost: *+1,204*, *−3 lose*. */
export function Change({ count, isLoss = false, children }: { count: number; isLoss?: boolean; children?: ReactNode }) {
  return (
    <span className={classOf(isLoss)}>
      {isLoss ? '−' : '+'}
      {numberText(count)}
      {children}
    </span>
  );
}

/** Beside the button of a draft: how many gain and lose by it. */
export function DraftChange({ of }: { of: { people_gaining: number; people_losing: number } | null }) {
  if (of === null) return null;
  return (
    <p className="hint">
      <Change count={of.people_gaining}> gain</Change>{' '}
      <Change count={of.people_losing} isLoss>
        {' '}
        lose
      </Change>
    </p>
  );
}

interface OutcomeLineProps {
  verb: string;
  isLoss: boolean;
  children: ReactNode;
}

/** What somebody gains or loses, by sign, word and colour. */
export function OutcomeLine({ verb, isLoss, children }: OutcomeLineProps) {
  return (
    <div className="outcome__what">
      <Sign isLoss={isLoss} />
      <span className={classOf(isLoss)}>{verb}</span> {children}
    </div>
  );
}
