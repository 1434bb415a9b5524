import { Fragment, useId, useMemo, useState } from 'react';
import type { Schemas } from '../api/client.js';
import { ruleLines, type RuleLine } from '../domain/rule-segments.js';

type Changed = Schemas['ChangedAccessResponse'];

/** Who gains and who loses what by another text, side by side. */
export function AccessDifference({ access }: { access: Schemas['AccessChangeResponse'] | null }) {
  return (
    <div className="pair">
      <Side title="Who gains" count={access?.gained_in_all ?? null} changed={access?.gained ?? []} />
      <Side title="Who loses" count={access?.lost_in_all ?? null} changed={access?.lost ?? []} isLoss />
    </div>
  );
}

interface SideProps {
  title: string;
  /** Null: it is not known. */
  count: number | null;
  changed: readonly Changed[];
  isLoss?: boolean;
}

/** Above so many, more are shown on demand. */
const MOST = 50;

function Side({ title, count, changed, isLoss = false }: SideProps) {
  const id = useId();
  const [most, setMost] = useState(MOST);
  const outcomes = alike(changed);
  return (
    <section aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        <span className="count">{count?.toLocaleString('en-GB')}</span>
      </div>
      {count === null && <p className="dim">There is nothing before it to compare with.</p>}
      {count === 0 && <p className="dim">Nobody {isLoss ? 'loses' : 'gains'} anything.</p>}
      {outcomes.slice(0, most).map(({ whats, people, others }) => (
        <div key={whats.join()} className="outcome">
          {whats.map((what) => (
            <div key={what} className="outcome__what">
              <span className={`sign${isLoss ? ' sign--loss' : ''}`} aria-hidden="true">
                {isLoss ? '−' : '+'}
              </span>
              <span className={`change${isLoss ? ' change--loss' : ''}`}>{isLoss ? 'loses' : 'gains'}</span>{' '}
              <span className="path">{what}</span>
            </div>
          ))}
          <ul className="outcome__who">
            {people.map((name) => (
              <li key={name}>{name}</li>
            ))}
            {others > 0 && <li className="dim">{others.toLocaleString('en-GB')} others</li>}
          </ul>
        </div>
      ))}
      <More left={outcomes.length - most} more={() => setMost(most + 10 * MOST)} />
    </section>
  );
}

/** What the same people gain or lose, with them once. */
function alike(changed: readonly Changed[]) {
  const outcomes = new Map<string, { whats: string[]; people: string[]; others: number }>();
  for (const { what, people, others } of changed) {
    const key = JSON.stringify([people, others]);
    const outcome = outcomes.get(key) ?? { whats: [], people, others };
    outcome.whats.push(what);
    outcomes.set(key, outcome);
  }
  return [...outcomes.values()];
}

/** The rules that another text has, and those that it has not. */
export function RulesDifference({ diff }: { diff: Schemas['RulesDiffResponse'] }) {
  const added = useMemo(() => ruleLines(diff.added, diff.removed), [diff]);
  const removed = useMemo(() => ruleLines(diff.removed, diff.added), [diff]);
  return (
    <>
      <Rules title="Rules added" rules={added} />
      <Rules title="Rules removed" rules={removed} isRemoved />
    </>
  );
}

function Rules({
  title,
  rules,
  isRemoved = false,
}: {
  title: string;
  rules: readonly RuleLine[];
  isRemoved?: boolean;
}) {
  const id = useId();
  const [most, setMost] = useState(MOST);
  const Changed = isRemoved ? 'del' : 'ins';
  return (
    <section aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        <span className="count">{rules.length.toLocaleString('en-GB')}</span>
      </div>
      {rules.length === 0 && <p className="dim">None.</p>}
      {rules.length > 0 && (
        <ol className={`diff${isRemoved ? ' diff--removed' : ''}`}>
          {rules.slice(0, most).map(({ section, segments }, index) => (
            <li key={index}>
              <span aria-hidden="true">{isRemoved ? '−' : '+'}</span>
              <span>{section}</span>
              <span>
                {segments.map(({ text, isChanged }, at) =>
                  isChanged ? (
                    <Changed key={at}>
                      <Breakable text={text} />
                    </Changed>
                  ) : (
                    <Breakable key={at} text={text} />
                  ),
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      <More left={rules.length - most} more={() => setMost(most + 10 * MOST)} />
    </section>
  );
}

/** Lines end after `|` and `,`. */
function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[|,])/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

function More({ left, more }: { left: number; more: () => void }) {
  if (left <= 0) return null;
  return (
    <button className="button button--small" type="button" onClick={more}>
      Show {left.toLocaleString('en-GB')} more
    </button>
  );
}
