import { Fragment, useMemo } from 'react';
import type { Schemas } from '../api/client.js';
import { numberText } from '../domain/count-text.js';
import { ruleLines, type RuleLine } from '../domain/rule-segments.js';
import { OutcomeLine } from './change.js';
import { Region } from './page.js';
import { useFirst } from './table.js';

type Changed = Schemas['ChangedAccessResponse'];

/** Who gains and who loses what by another text, side by side. */
export function AccessDifference({ access }: { access: Schemas['AccessChangeResponse'] | null }) {
  return (
    <div className="pair">
      <Side
        title="Who gains"
        count={access?.people_gaining ?? access?.gained_in_all ?? null}
        changed={access?.gained ?? []}
      />
      <Side
        title="Who loses"
        count={access?.people_losing ?? access?.lost_in_all ?? null}
        changed={access?.lost ?? []}
        isLoss
      />
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
  const [outcomes, more] = useFirst(alike(changed), MOST);
  return (
    <Region title={title} count={count !== null && numberText(count)}>
      {count === null && <p className="dim">Not compared: nothing was before it, or nothing that can be read.</p>}
      {count === 0 && <p className="dim">Nobody {isLoss ? 'loses' : 'gains'} anything.</p>}
      {outcomes.map(({ whats, people, others }) => (
        <div key={whats.join()} className="outcome">
          {whats.map((what) => (
            <OutcomeLine key={what} verb={isLoss ? 'loses' : 'gains'} isLoss={isLoss}>
              <span className="path">{what}</span>
            </OutcomeLine>
          ))}
          <ul className="outcome__who">
            {people.map((name) => (
              <li key={name}>{name}</li>
            ))}
            {others > 0 && <li className="dim">{numberText(others)} others</li>}
          </ul>
        </div>
      ))}
      {more}
    </Region>
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
  const [first, more] = useFirst(rules, MOST);
  const Changed = isRemoved ? 'del' : 'ins';
  return (
    <Region title={title} count={numberText(rules.length)}>
      {rules.length === 0 && <p className="dim">None.</p>}
      {rules.length > 0 && (
        <ol className={`diff${isRemoved ? ' diff--removed' : ''}`}>
          {first.map(({ section, segments }, index) => (
            <li key={index}>
              <span aria-hidden="true">{isRemoved ? '−' : '+'}</span>
              <span>
                <Breakable text={section} />
              </span>
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
      {more}
    </Region>
  );
}

/** Lines end after `|`, `,` and `_`. */
function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[|,_])/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
