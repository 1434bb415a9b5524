import { lazy, type ReactNode, Suspense } from 'react';
import type { Schemas } from '../api/client.js';
import type { Preview } from '../api/drafts.js';
import { type Changed, mayOf, permissionOf } from '../domain/access-change.js';
import { countText, numberText, peopleText } from '../domain/count-text.js';
import { type Outcome, outcomesOf } from '../domain/outcomes.js';
import { Button } from './controls.js';
import { addressOf, type Named, Path, Principal, Privileges } from './display.js';
import { Note, Notice } from './notice.js';
import { Fact, Region } from './page.js';
import { NamedPrincipal } from './principal-combobox.js';
import { useFirst } from './table.js';

/** Plus or minus in a square. */
export function Sign({ isLoss = false }: { isLoss?: boolean }) {
  return (
    <span className={`sign${isLoss ? ' sign--loss' : ''}`} aria-hidden="true">
      {isLoss ? '−' : '+'}
    </span>
  );
}

const classOf = (isLoss: boolean): string => `change${isLoss ? ' change--loss' : ''}`;

/** A number that is gained or lost: *+1,204*, *−3 lose*, and *0* without a sign. */
export function Change({ count, isLoss = false, children }: { count: number; isLoss?: boolean; children?: ReactNode }) {
  return (
    <span className={count === 0 ? 'dim' : classOf(isLoss)}>
      {count > 0 && (isLoss ? '−' : '+')}
      {numberText(count)}
      {children}
    </span>
  );
}

/** Numbers of people who gain and lose by a draft, beside its button. */
export function DraftChange({ of }: { of: Preview | null }) {
  if (of === null) return null;
  return (
    <p className="hint">
      <Change count={of.people_gaining}> gain</Change>{' '}
      <Change count={of.people_losing} isLoss>
        {' '}
        lose
      </Change>{' '}
      {of.checks.some(({ code }) => code === REFUSED) && <b className="change change--loss"> A guarantee refuses it</b>}
    </p>
  );
}

/** One thing that somebody gains or loses, by sign, word and colour. */
function OutcomeLine({ verb, isLoss, children }: { verb: string; isLoss: boolean; children: ReactNode }) {
  return (
    <div className="outcome__what">
      <Sign isLoss={isLoss} />
      <span className={classOf(isLoss)}>{verb}</span> {children}
    </div>
  );
}

/** Numbers of people who gain, who lose, and who have all of it already. */
export function Totals({ preview, isComputing }: { preview: Preview | null; isComputing: boolean }) {
  if (preview === null && !isComputing) return null;
  const { people_gaining: gaining = 0, people_losing: losing = 0, people_unchanged: unchanged = 0 } = preview ?? {};
  return (
    <p className="totals" role="status" aria-busy={isComputing}>
      {preview === null ? (
        <span>Computing who gains and who loses</span>
      ) : (
        <>
          <span>
            <b>
              <Change count={gaining} />
            </b>{' '}
            {gaining === 1 ? 'person gains' : 'people gain'}
          </span>{' '}
          <span>
            <b>
              <Change count={losing} isLoss />
            </b>{' '}
            {losing === 1 ? 'person loses' : 'people lose'}
          </span>{' '}
          {unchanged > 0 && (
            <span>
              <b>{numberText(unchanged)}</b> unchanged
            </span>
          )}
          {isComputing && <span className="dim">computing</span>}
        </>
      )}
    </p>
  );
}

/** The preview of a draft: who gains, who loses, who has it already, and the checks. */
export function Changes({ preview, more }: { preview: Preview; more?: (() => void) | undefined }) {
  return (
    <>
      <Side of={preview} side="gains" />
      <Side of={preview} side="loses" />
      {more !== undefined && (
        <div className="row">
          <Button text="Read more people" onClick={more} />
        </div>
      )}
      <Unchanged preview={preview} />
      <Checks preview={preview} />
    </>
  );
}

/** Who gains or who loses by a draft, each outcome once. */
export function Side({ of: preview, side }: { of: Preview; side: 'gains' | 'loses' }) {
  const isLoss = side === 'loses';
  const outcomes = outcomesOf(preview[side]);
  return (
    <Region
      title={`Who ${side}`}
      count={peopleText(isLoss ? preview.people_losing : preview.people_gaining)}
      isStack={preview.guarantees.length > 0}
    >
      {!isLoss && <DraftGuarantees of={preview} />}
      {outcomes.length === 0 && <p className="dim">Nobody {side} anything.</p>}
      {outcomes.map((outcome) => (
        <div key={outcome.key} className="outcome">
          {outcome.differences.map((difference) => (
            <Difference
              key={JSON.stringify(difference.resource)}
              of={difference}
              catalogs={preview.catalogs}
              verb={outcome.people.length === 1 ? side : side.slice(0, -1)}
              isLoss={isLoss}
            />
          ))}
          <People people={outcome.people} />
        </div>
      ))}
    </Region>
  );
}

/** The code of the check of a draft that an enforced guarantee refuses. */
const REFUSED = 'guarantee_broken';

/** The guarantees that a draft would break or mend. */
export function DraftGuarantees({ of: { guarantees } }: { of: Preview }) {
  return (
    <Suspense>
      {guarantees.map((guarantee) => (
        <DraftGuarantee key={guarantee.id} {...guarantee} />
      ))}
    </Suspense>
  );
}

const DraftGuarantee = lazy(async () => ({ default: (await import('./draft-guarantee.js')).DraftGuarantee }));

interface DifferenceProps {
  of: Outcome['differences'][number];
  catalogs: readonly string[];
  verb: string;
  isLoss: boolean;
}

function Difference({ of: { resource, ...access }, catalogs, verb, isLoss }: DifferenceProps) {
  const isEverything = Object.keys(resource).length === 0;
  const restrictions = [
    ...access.row_filters.map((code) => ({ icon: 'filter', text: 'the row filter', code })),
    ...access.masked_columns.map(({ column, expression: code }) => ({
      icon: 'mask',
      text: `the mask of ${column},`,
      code,
    })),
    ...access.hidden_columns.map((code) => ({ icon: 'column', text: 'the hidden column', code })),
  ];
  return (
    <>
      {access.privileges.length > 0 && (
        <OutcomeLine verb={verb} isLoss={isLoss}>
          <Privileges names={access.privileges} /> <span>{'as' in resource ? '' : 'on'}</span> <Path node={resource} />
          {isEverything && catalogs.length > 0 && (
            <span className="hint">{catalogs.length} catalogs today, and later ones</span>
          )}
        </OutcomeLine>
      )}
      {restrictions.map(({ icon, text, code }) => (
        <Note key={`${text} ${code}`} icon={icon}>
          {isLoss ? 'Now with' : 'No longer with'} {text} <code>{code}</code> on <Path node={resource} />
        </Note>
      ))}
    </>
  );
}

/** People of one outcome that are shown at first. */
const FIRST_PEOPLE = 60;

function People({ people }: { people: readonly Named[] }) {
  const [first, more] = useFirst(people, FIRST_PEOPLE);
  return (
    <>
      <ul className="outcome__who">
        {first.map((each) => (
          <li key={`${each.type} ${each.name ?? ''}`}>
            <Principal of={each} href={addressOf(each)} />
          </li>
        ))}
      </ul>
      {more && <p className="note">{more}</p>}
    </>
  );
}

function Unchanged({ preview }: { preview: Preview }) {
  if (preview.people_unchanged === 0) return null;
  const ways = new Map<string, Named[]>();
  for (const { principal, through } of preview.unchanged) {
    const text = throughText(through);
    ways.set(text, [...(ways.get(text) ?? []), principal]);
  }
  return (
    <Region title="Unchanged" count={peopleText(preview.people_unchanged)}>
      {[...ways].map(([text, people]) => (
        <div key={text} className="outcome">
          <p className="dim">
            {people.length === 1 ? 'has' : 'have'} all of it {text}
          </p>
          <People people={people} />
        </div>
      ))}
    </Region>
  );
}

function throughText(through: Preview['unchanged'][number]['through']): string {
  if (typeof through === 'object') return `through group ${through.group.name}`;
  return through === 'directly' ? 'directly' : 'as everyone';
}

/** The checks of a draft: refusals other than by a guarantee, warnings, and the size of the rules. */
export function Checks({ preview: { checks, warnings, size } }: { preview: Preview }) {
  // Guarantees stand with what is gained.
  const others = checks.filter(({ code }) => code !== REFUSED);
  return (
    <Region title="Checks">
      {others.map(({ code, message }) => (
        <Notice key={code + message} tone="loss" title={CHECKS[code] ?? code} text={message} />
      ))}
      {warnings.map((message) => (
        <Notice key={message} tone="warn" title="It does not do what it seems to do" text={message} />
      ))}
      <dl className="facts">
        {checks.length === 0 && <Fact name="Proof">complete</Fact>}
        <Fact name="Size">
          {size === null ? 'fits' : size.fits ? 'fits, with little left' : 'too large'}
          {size !== null && <small>{size.message}</small>}
        </Fact>
      </dl>
    </Region>
  );
}

const CHECKS: Record<string, string> = {
  name_taken: 'The name belongs to somebody else',
  mask_conflict: 'Another policy masks this column already',
  rules_too_large: 'The rules would be too large for the engine',
  rules_unprovable: 'The rules could not be proved',
};

interface AccessDifferenceProps {
  /** Null: nothing was compared. */
  access: Schemas['AccessChangeResponse'] | null;
}

/** Who gains and who loses by a published text, or by one that waits; side by side. */
export function AccessDifference({ access }: AccessDifferenceProps) {
  return (
    <div className="pair">
      <ChangedSide access={access} side="gains" />
      <ChangedSide access={access} side="loses" />
    </div>
  );
}

/** Outcomes that are shown at first. */
const FIRST_OUTCOMES = 10;

function ChangedSide({ access, side }: AccessDifferenceProps & { side: 'gains' | 'loses' }) {
  const [changed = [], things = null, people = null] =
    side === 'gains'
      ? [access?.gained, access?.gained_in_all, access?.people_gaining]
      : [access?.lost, access?.lost_in_all, access?.people_losing];
  const [outcomes, more] = useFirst(changesByPeople(changed), FIRST_OUTCOMES);
  const count = people === null ? things !== null && countText(things, 'thing') : peopleText(people);
  return (
    <Region title={`Who ${side}`} count={count}>
      {things === null && <p className="dim">Not compared: nothing was before it, or nothing that can be read.</p>}
      {things === 0 && <p className="dim">Nobody {side} anything.</p>}
      {outcomes.map((outcome) => (
        <ChangedOutcome key={outcome.whats.join()} of={outcome} side={side} />
      ))}
      {more}
    </Region>
  );
}

/** Things of one outcome that are shown at first. */
const FIRST_THINGS = 8;

function ChangedOutcome({ of, side }: { of: ChangedPeople; side: 'gains' | 'loses' }) {
  const { whats, people, others } = of;
  const [first, more] = useFirst(whats, FIRST_THINGS);
  return (
    <div className="outcome">
      {first.map((what) => (
        <ChangedThing key={what} what={what} verb={people.length + others === 1 ? side : side.slice(0, -1)} />
      ))}
      {more && <p className="note">{more}</p>}
      <ul className="outcome__who">
        {people.map((name) => (
          <li key={name}>
            <NamedPrincipal name={name} />
          </li>
        ))}
        {others > 0 && <li className="dim">{numberText(others)} others</li>}
      </ul>
    </div>
  );
}

/** *gains SELECT on sales.eu*, *may no longer execute queries*, *now may not SELECT the column card of sales.eu.orders*. */
function ChangedThing({ what, verb }: { what: string; verb: string }) {
  const isLoss = verb.startsWith('lose');
  const permission = permissionOf(what);
  if (permission === null) {
    const { may, text } = mayOf(what, isLoss);
    return (
      <OutcomeLine verb={may} isLoss={isLoss}>
        <span className="prose">{text}</span>
      </OutcomeLine>
    );
  }
  return (
    <OutcomeLine verb={verb} isLoss={isLoss}>
      <Privileges names={[permission.privilege]} /> <span>on</span> <Path node={permission.node} />
    </OutcomeLine>
  );
}

interface ChangedPeople extends Pick<Changed, 'people' | 'others'> {
  whats: string[];
}

/** Changes grouped by their people. */
function changesByPeople(changed: readonly Changed[]): ChangedPeople[] {
  const outcomes = new Map<string, ChangedPeople>();
  for (const { what, people, others } of changed) {
    const key = JSON.stringify([people, others]);
    const outcome = outcomes.get(key) ?? { whats: [], people, others };
    outcome.whats.push(what);
    outcomes.set(key, outcome);
  }
  return [...outcomes.values()];
}
